"""`tailfin store`: tools for a store directory that no store need have open."""
