"""basic-memory's process, in its own virtual environment: full-text search, no embeddings.

Indexing is what `basic-memory reindex --search` does for one project. Full-text search is asked
in three ways: its search service with the question as it stands, the same with the question's
words joined by OR (its own query syntax), and the MCP tool `search_notes`, which is what an agent
calls. The folder is basic-memory's own copy: it writes permalinks into the files that it indexes.
"""

# The peer is installed in its own environment only, never beside recall.
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from basic_memory import db
from basic_memory.config import ConfigManager
from basic_memory.index.local_project import (
    LocalProjectIndexRuntimeFactory,
    run_local_project_index_for_project,
)
from basic_memory.repository import EntityRepository, ProjectRepository
from basic_memory.repository.search_repository import create_search_repository
from basic_memory.schemas.search import SearchItemType, SearchQuery, SearchRetrievalMode
from basic_memory.services.initialization import reconcile_projects_with_config
from basic_memory.services.search_service import SearchService
from loguru import logger

from benchmarks.peers.protocol import Job

DISTRIBUTION = "basic-memory"

AS_ASKED, ANY_WORD, TOOL = "as asked", "any word", "tool"


class BasicMemoryEngine:
    def __init__(self, project: Any, service: Any, job: Job) -> None:
        self._project = project
        self._service = service
        self._way = job.way
        self._limit = job.limit
        # Its tools bring a whole MCP server, which a search alone doesn't need.
        self._tools: Any = import_module("basic_memory.mcp.tools") if job.way == TOOL else None

    async def index(self) -> str:
        result = await run_local_project_index_for_project(
            self._project, runtime_factory=LocalProjectIndexRuntimeFactory(), embeddings=False
        )
        failed = [
            file.reason
            for batch in result.batch_results
            for file in batch.file_results
            if file.status.name == "failed"
        ]
        return f"{len(failed)} files not indexed: {failed[0]}"[:200] if failed else ""

    async def ask(self, text: str) -> list[str]:
        if self._way == TOOL:
            return await self._ask_tool(text)
        query = SearchQuery(
            text=any_word(text) if self._way == ANY_WORD else text,
            retrieval_mode=SearchRetrievalMode.FTS,
            entity_types=[SearchItemType.ENTITY],  # whole notes, the tool's own default
        )
        rows = await self._service.search(query, limit=self._limit)
        return [row.file_path for row in rows]

    async def _ask_tool(self, text: str) -> list[str]:
        answer = await self._tools.search_notes(
            query=text,
            project=self._project.name,
            search_type="text",
            page_size=self._limit,
            output_format="json",
        )
        if isinstance(answer, str):  # guidance instead of results: the search failed
            raise RuntimeError(answer.strip().splitlines()[0])
        return [result["file_path"] for result in answer["results"]]

    async def close(self) -> None:
        await db.shutdown_db()


def any_word(text: str) -> str:
    """Return the text's words joined by OR."""
    return " OR ".join(dict.fromkeys(re.findall(r"\w+", text.lower())))


async def open_engine(job: Job) -> BasicMemoryEngine:
    """Return basic-memory over its main project; BASIC_MEMORY_HOME names the folder."""
    logger.remove()  # its log would be written during the search
    config = ConfigManager().config
    await reconcile_projects_with_config(config)
    _, sessions = await db.get_or_create_db(
        db_path=config.database_path, db_type=db.DatabaseType.FILESYSTEM
    )
    async with db.scoped_session(sessions) as session:
        [project] = await ProjectRepository().get_active_projects(session)
    service = SearchService(
        create_search_repository(sessions, project_id=project.id, app_config=config),
        EntityRepository(project_id=project.id),
        None,  # reads files while indexing; searching needs none
        session_maker=sessions,
    )
    return BasicMemoryEngine(project, service, job)
