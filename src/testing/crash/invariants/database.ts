import type { BlobReference } from "../../../core/blob-reference.ts";
import { FINE, type Invariant, lookAt, wrong } from "../invariant.ts";
import { everySight, type Sight } from "./places.ts";

export const referencesHaveBlobs: Invariant = {
  name: "references-have-blobs",
  promise:
    "Whatever a receipt or an artifact refers to is there, with the hash and the size that it should have.",
  judge: (evidence) => {
    const references = everySight(evidence).flatMap((sight) =>
      referencesOf(sight).map((reference) => ({ ...reference, sight })),
    );
    return lookAt(references, ({ sight: { account, when }, who, tool, blob: { blobId, size } }) => {
      const about = (what: string) =>
        wrong(`${who} refers to blob ${blobId.slice(0, 8)} of ${size} bytes, and ${when} ${what}`, tool);
      const found = account.blobs[blobId] ?? null;
      if (found === null) return about("it is not there");
      if (found.blobId !== blobId) return about(`what is there has the hash ${found.blobId.slice(0, 8)}`);
      return found.size === size ? FINE : about(`what is there has ${found.size}`);
    });
  },
};

type Reference = { readonly who: string; readonly tool?: string; readonly blob: BlobReference };

function referencesOf({ account: { run, calls, artifacts } }: Sight): readonly Reference[] {
  const ofCalls = calls.flatMap(({ tool, toolCallId, receipt }) =>
    receipt?.blob ? [{ who: `The receipt of ${tool} (${toolCallId})`, tool, blob: receipt.blob }] : [],
  );
  const ofArtifacts = artifacts.map(({ name, hash, size }) => ({
    who: `Artifact ${name} of ${run.runId}`,
    blob: { blobId: hash, size },
  }));
  return [...ofCalls, ...ofArtifacts];
}

export const eventsVerify: Invariant = {
  name: "events-verify",
  promise: "The log of a run is whole, and every row is what its event says.",
  judge: (evidence) =>
    lookAt(everySight(evidence), ({ account: { run, verification }, when }) => {
      const { events, problems } = verification;
      if (events === 0) return wrong(`The log of ${run.runId} is empty ${when}`);
      return problems.flatMap(({ row, what }) => wrong(`In ${run.runId}, ${when}, ${row} ${what}`));
    }),
};

export const databaseIntact: Invariant = {
  name: "database-intact",
  promise: "The database finds nothing wrong with itself.",
  judge: ({ integrity }) => ({
    looked: 1,
    problems: integrity.flatMap((what) => wrong(`The database says of itself: ${what}`)),
  }),
};
