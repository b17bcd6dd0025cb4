"""The sink `rocketmq`: a DataFrame's rows become messages.

- `columns`, `options`: what a user says, checked before anything runs
- `line`: a process's connection to a cluster; `sending`: the rows of one task
- `writing`: what Spark calls
- `decisions`, `decision_log`: which batches are decided, and the topic where that stands
- `committing`: the driver's part of exactly-once; `ending`: ends of halves; `orphans`: those that nobody ends
"""
