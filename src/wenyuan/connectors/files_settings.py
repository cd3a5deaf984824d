"""Settings of sources in object stores, on file servers and in archives."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field

from wenyuan.connectors.connector_settings import ConnectorSettings
from wenyuan.settings import VariableName


class FilesSettings(ConnectorSettings):
    """Settings of a folder read through fsspec. Names that end in ``_env`` name environment variables.

    Attributes:
        key_env, secret_env: Of ``s3``, ``oss`` and ``az``: the access key and its secret; of ``az`` the key alone. Without
            them, what is public is read, and no credentials of this machine are used.
        token_env: A session token, a service account as JSON (``gs``), a SAS token (``az``), a token (``github``).
        user, password_env: Of ``sftp``, ``ftp``, ``webdav``, ``smb``.
        insecure: Allow sending a password to an unauthenticated server: ``ftp`` and ``webdav`` are not encrypted, and
            the driver of ``sftp`` takes whatever host key it is shown.
        endpoint: The address of another store that speaks the same protocol (``s3``, ``oss``).
        account, region, branch: Of ``az``; of ``s3``; of ``github``.
        exclude: Patterns of paths that are left out.
        max_files: Files that are listed in one run; ten times as many entries of folders are looked at.
        max_mb: Megabytes that an archive may have which is fetched from elsewhere.
        max_minutes: Minutes that one listing may take.
    """

    key_env: VariableName | None = None
    secret_env: VariableName | None = None
    token_env: VariableName | None = None
    user: str = ""
    password_env: VariableName | None = None
    insecure: bool = False
    endpoint: str = ""
    account: str = ""
    region: str = ""
    branch: str = ""
    exclude: list[str] = Field(default_factory=list, max_length=1_000)
    max_files: int = Field(default=100_000, ge=1, le=1_000_000)
    max_mb: int = Field(default=500, ge=1, le=10_000)
    max_minutes: float = Field(default=120.0, gt=0, le=1_440)


@dataclass(frozen=True, slots=True)
class Secrets:
    """The values of the environment variables named in the settings; ``""`` where none is named."""

    key: str = ""
    secret: str = ""
    token: str = ""
    password: str = ""
