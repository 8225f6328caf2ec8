"""Downloads a file: it retries, resumes, and checks the result.

Bytes go to `<name>.part`, which gets its final name only after it has been checked. An interrupted
download continues where it stopped, also in a later process.
"""

from __future__ import annotations

import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from goalsets.core import GoalsetsError

if TYPE_CHECKING:
    from rich.progress import Progress

_CHUNK = 1 << 18
_BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})
_RANGE_NOT_SATISFIABLE = 416


class DownloadError(GoalsetsError):
    """A file could not be downloaded; the message says why."""


class _TryAgainError(Exception):
    """Something failed that may succeed later."""


@dataclass(frozen=True)
class Downloader:
    """Settings of a download, and the download itself."""

    attempts: int = 5
    """How often to try before giving up."""
    timeout: float = 30.0
    """After this many seconds without a byte, the connection counts as lost."""
    backoff: float = 1.0
    """Seconds to wait after the first failure; doubled after each further one."""
    progress: bool = True
    """Show a progress bar on standard error."""

    def fetch(self, url: str, target: Path, check: Callable[[Path], None]) -> Path:
        """Download `url` to `target`.

        Args:
            url: An http or https address.
            target: Where to put the file; its directory is created.
            check: Raises a `GoalsetsError` if the file is wrong.

        Raises:
            DownloadError: The download failed. The part that has arrived is kept for the next
                attempt, unless it failed the check.
        """
        if not url.startswith(("http://", "https://")):
            raise DownloadError(f"{url}: expected an address that starts with http:// or https://.")
        part = target.with_name(f"{target.name}.part")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with _progress(self.progress) as bar:
                self._until_checked(url, part, check, bar)
            part.replace(target)
        except OSError as error:
            raise DownloadError(
                f"cannot write {error.filename or target}: {error.strerror}."
            ) from None
        return target

    def _until_checked(
        self, url: str, part: Path, check: Callable[[Path], None], bar: Progress
    ) -> None:
        """Download and check. A file that was resumed and fails the check is downloaded again."""
        pieces = int(part.is_file())
        while True:
            pieces += self._until_complete(url, part, bar)
            try:
                return check(part)
            except GoalsetsError as error:
                part.unlink()
                if pieces == 1:
                    raise DownloadError(f"{url}: the downloaded file is wrong: {error}") from None
                pieces = 0

    def _until_complete(self, url: str, part: Path, bar: Progress) -> int:
        """Download until the length is right; return the number of attempts."""
        failure = "no attempt was made"
        for attempt in range(self.attempts):
            if attempt:
                time.sleep(self.backoff * 2 ** (attempt - 1))
            try:
                self._continue(url, part, bar)
                return attempt + 1
            except _TryAgainError as error:
                failure = str(error)
        raise DownloadError(f"{url}: {failure} ({self.attempts} attempts).")

    def _continue(self, url: str, part: Path, bar: Progress) -> None:
        """Request the missing bytes, append them, and check the length."""
        have = part.stat().st_size if part.is_file() else 0
        request = urllib.request.Request(url, headers={"User-Agent": "goalsets"})
        if have:
            request.add_header("Range", f"bytes={have}-")
        try:
            response = urllib.request.urlopen(request, timeout=self.timeout)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == _RANGE_NOT_SATISFIABLE:
                _settle_range(error, part, have)
                return
            if error.code in _BUSY:
                raise _TryAgainError(f"{error.code} {error.reason}") from None
            raise DownloadError(f"{url}: {error.code} {error.reason}.") from None
        except (OSError, http.client.HTTPException) as error:
            raise _TryAgainError(_reason(error)) from None
        with response:
            # A server that ignores the range answers 200 and starts from the beginning.
            start = have if response.status == http.client.PARTIAL_CONTENT else 0
            if start and not _content_range(response).startswith(f"bytes {have}-"):
                part.unlink()
                raise _TryAgainError(
                    f"asked for bytes from {have}, got {_content_range(response)!r}"
                )
            with part.open("ab" if start else "wb") as file:
                _copy(response, file, start, bar)


def _copy(response: http.client.HTTPResponse, file: IO[bytes], start: int, bar: Progress) -> None:
    length = response.getheader("Content-Length")
    total = None if length is None else start + int(length)
    # All attempts share one progress bar.
    task = bar.task_ids[0] if bar.task_ids else bar.add_task("")
    bar.update(task, description=Path(file.name).stem, total=total, completed=start)
    size = start
    for chunk in _chunks(response):
        file.write(chunk)
        size += len(chunk)
        bar.update(task, completed=size)
    if total is not None and size != total:
        raise _TryAgainError(f"the connection ended after {size} of {total} bytes")


def _chunks(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """Read the response. An error here is one of the network, not of the disk."""
    while True:
        try:
            chunk = response.read(_CHUNK)
        except (OSError, http.client.HTTPException) as error:
            raise _TryAgainError(_reason(error)) from None
        if not chunk:
            return
        yield chunk


def _settle_range(error: urllib.error.HTTPError, part: Path, have: int) -> None:
    """The server has no further bytes: the part is complete, or it belongs to another file."""
    if error.headers.get("Content-Range", "").rpartition("/")[2] != str(have):
        part.unlink()
        raise _TryAgainError(f"the {have} bytes from an earlier download are of another file")


def _content_range(response: http.client.HTTPResponse) -> str:
    return response.getheader("Content-Range") or ""


def _reason(error: Exception) -> str:
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    return str(reason) or type(error).__name__


def _progress(show: bool) -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=not show,
    )
