"""Hooks of mkdocs.yml for the parts of the documentation site outside docs/.

The README is the first page. Notebooks become pages, with their outputs. Pages link to files that
are not part of the site: these links are changed to point to the repository, and linked pictures
are copied.
"""

import json
import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
PICTURES = (".gif", ".jpg", ".png", ".svg")
_LINK = re.compile(r"\]\((?!https?://|#|mailto:)([^)\s]+)\)")
_CODE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the README as the first page, and the pictures outside docs/ that pages show."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    files.append(File.generated(config, "index.md", content=readme))
    for notebook in sorted((ROOT / "docs").glob("notebooks/*.ipynb")):
        place = notebook.relative_to(ROOT / "docs").with_suffix(".md").as_posix()
        files.append(File.generated(config, place, content=notebook_page(notebook)))
    texts = {"README.md": readme}
    for file in files.documentation_pages():
        if file.src_uri != "index.md":
            texts[f"docs/{file.src_uri}"] = file.content_string
    for place, text in texts.items():
        for link in _LINK.findall(text):
            target = _target(link, place)
            if target.endswith(PICTURES) and not target.startswith("docs/"):
                picture = File.generated(config, target, abs_src_path=str(ROOT / target))
                if files.get_file_from_path(target) is None:
                    files.append(picture)
    return files


def notebook_page(path: Path) -> str:
    """A notebook as a page: its texts, its code, and what that showed."""
    parts: list[str] = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        commands = source.startswith("!")
        shown = re.sub(r"^!", "$ ", source, flags=re.MULTILINE) if commands else source
        parts.append(f"```{'console' if commands else 'python'}\n{shown}\n```")
        for output in cell["outputs"]:
            if output["output_type"] == "stream":
                parts.append(f"```text\n{''.join(output['text']).rstrip()}\n```")
            elif "image/png" in output["data"]:
                picture = output["data"]["image/png"]
                parts.append(
                    f'<img alt="what the cell shows" src="data:image/png;base64,{picture}">'
                )
    return "\n\n".join(parts) + "\n"


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, **_: object) -> str:
    """Point links that leave docs/ to the repository, and those of the README into docs/."""
    home = "README.md" if page.file.src_uri == "index.md" else f"docs/{page.file.src_uri}"

    def lead(found: re.Match[str]) -> str:
        return f"]({_link(found[1], home, page.file.src_uri, config)})"

    parts: list[str] = []
    end = 0
    for code in _CODE.finditer(markdown):
        parts += [_LINK.sub(lead, markdown[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, _LINK.sub(lead, markdown[end:])])


def _link(link: str, home: str, page: str, config: MkDocsConfig) -> str:
    """A link of the file `home`, as it must be on the page `page`."""
    target = _target(link, home)
    if target == "README.md":
        inside = "index.md"
    elif target.startswith("docs/") and (ROOT / target).is_file():
        inside = re.sub(r"\.ipynb$", ".md", target.removeprefix("docs/"))
    elif target.endswith(PICTURES):
        inside = target
    elif (ROOT / target).exists():
        kind = "tree" if (ROOT / target).is_dir() else "blob"
        anchor = link.partition("#")[2]
        address = f"{str(config.repo_url).rstrip('/')}/{kind}/main/{target}"
        return f"{address}#{anchor}" if anchor else address
    else:
        return link  # mkdocs then reports that there is no such file
    _, mark, anchor = link.partition("#")
    return posixpath.relpath(inside, posixpath.dirname(page) or ".") + mark + anchor


def _target(link: str, home: str) -> str:
    """The file that a link of the file `home` names, from the root of the repository."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(home), link.partition("#")[0]))
