"""The part of a page between two markers, which a tool writes."""


def filled(page: str, name: str, text: str) -> str:
    """Return a page with another text between `<!-- name -->` and `<!-- /name -->`."""
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, rest = page.split(begin)
    _, after = rest.split(end)
    return f"{before}{begin}\n{text}{end}{after}"
