import { artifactDocument } from "../../../account/documents/run-documents.ts";
import { receivedFiles } from "../../../account/run-mail.ts";
import { everyRecord } from "../../../export/record-pages.ts";
import type { StoreReader, ToolCallRecord } from "../../../store/store.ts";
import type { Handlers } from "../../handler.ts";
import { HttpProblem } from "../../http-problem.ts";
import { notFound, requireRun } from "../../scope/run-scope.ts";
import type { ServerParts } from "../server-parts.ts";
import { download } from "./download.ts";

/** The bytes that runs have made. */
export function downloadHandlers({
  store,
}: ServerParts): Handlers<"listArtifacts" | "getArtifact" | "getBlob"> {
  return {
    listArtifacts: async ({ params: { runId } }, { principal }) => {
      await requireRun(store, principal, runId);
      const artifacts = await store.listArtifacts(runId);
      return { status: 200, body: { items: artifacts.map(artifactDocument) } };
    },

    getArtifact: async ({ params: { runId, name } }, { principal }) => {
      await requireRun(store, principal, runId);
      const bytes = await store.readArtifact(runId, name);
      if (bytes !== null) return download(bytes, name);
      const artifacts = await store.listArtifacts(runId);
      throw artifacts.some((each) => each.name === name)
        ? deleted(`artifact ${name}`)
        : notFound("artifact", name);
    },

    getBlob: async ({ params: { runId, blobId } }, { principal }) => {
      await requireRun(store, principal, runId);
      const bytes = await store.readBlob(runId, blobId);
      if (bytes !== null) return download(bytes, `${blobId}.bin`);
      throw (await hasReference(store, runId, blobId)) ? deleted(`blob ${blobId}`) : notFound("blob", blobId);
    },
  };
}

/** True if something of the run names the blob. Asked only if its bytes are not there. */
async function hasReference(store: StoreReader, runId: string, blobId: string): Promise<boolean> {
  if ((await store.listArtifacts(runId)).some(({ hash }) => hash === blobId)) return true;
  for await (const { receipt } of everyRecord<ToolCallRecord>((range) => store.listToolCalls(runId, range)))
    if (receipt?.blob?.blobId === blobId) return true;
  for await (const file of receivedFiles(store, runId, () => undefined))
    if (file.blobId === blobId) return true;
  return false;
}

function deleted(what: string): HttpProblem {
  return new HttpProblem(
    410,
    "bytes_deleted",
    `The bytes of ${what} were deleted to free space: only its name and hash are kept.`,
  );
}
