import type { BlobReference } from "../../../core/blob-reference.ts";
import { sentFiles } from "../evidence.ts";
import { checkEach, FINE, type Invariant, wrong } from "../invariant.ts";
import { allObservations, type Observation } from "./observations.ts";

export const referencesHaveBlobs: Invariant = {
  name: "references-have-blobs",
  promise:
    "Every blob that a receipt, an artifact or a message refers to is stored, with the right hash and size, and only those.",
  judge: (evidence) => {
    const references = allObservations(evidence).flatMap((observation) =>
      referencesOf(observation).map((reference) => ({ ...reference, observation })),
    );
    const stored = checkEach(
      references,
      ({ observation: { account, when }, owner, tool, blob: { blobId, size } }) => {
        const about = (what: string) =>
          wrong(`${owner} refers to blob ${blobId.slice(0, 8)} of ${size} bytes, but ${when} ${what}`, tool);
        const found = account.blobs[blobId] ?? null;
        if (found === null) return about("it is missing");
        if (found.blobId !== blobId) return about(`the stored blob has the hash ${found.blobId.slice(0, 8)}`);
        return found.size === size ? FINE : about(`the stored blob has ${found.size}`);
      },
    );
    const left = allObservations(evidence).flatMap((observation) =>
      leftBlobs(observation) > 0
        ? wrong(`${observation.account.run.runId} has a blob ${observation.when} that nothing refers to`)
        : FINE,
    );
    return { looked: stored.looked, problems: [...stored.problems, ...left] };
  },
};

/** How many blobs nothing refers to. Those that an artifact or a late receipt leaves behind are meant to stay. */
function leftBlobs({ account: { calls, artifacts, messages, verification, blobs } }: Observation): number {
  const areOfMessages =
    messages.some((message) => sentFiles(message).length > 0) &&
    artifacts.length === 0 &&
    calls.every(({ receipt }) => !receipt?.blob);
  return areOfMessages ? verification.blobs - Object.keys(blobs).length : 0;
}

type HeldReference = { readonly owner: string; readonly tool?: string; readonly blob: BlobReference };

function referencesOf({
  account: { run, calls, artifacts, messages },
}: Observation): readonly HeldReference[] {
  const ofCalls = calls.flatMap(({ tool, toolCallId, receipt }) =>
    receipt?.blob ? [{ owner: `The receipt of ${tool} (${toolCallId})`, tool, blob: receipt.blob }] : [],
  );
  const ofArtifacts = artifacts.map(({ name, hash, size }) => ({
    owner: `Artifact ${name} of ${run.runId}`,
    blob: { blobId: hash, size },
  }));
  const ofMessages = messages.flatMap((message) =>
    sentFiles(message).map((blob) => ({ owner: `Message ${message.id} of ${run.runId}`, blob })),
  );
  return [...ofCalls, ...ofArtifacts, ...ofMessages];
}

export const eventsVerify: Invariant = {
  name: "events-verify",
  promise: "The event log of a run is complete, and every row matches its event.",
  judge: (evidence) =>
    checkEach(allObservations(evidence), ({ account: { run, verification }, when }) => {
      const { events, problems } = verification;
      if (events === 0) return wrong(`The event log of ${run.runId} is empty ${when}`);
      return problems.flatMap(({ row, what }) => wrong(`In ${run.runId}, ${when}, ${row} ${what}`));
    }),
};

export const databaseIntact: Invariant = {
  name: "database-intact",
  promise: "The integrity check of the database finds no problem.",
  judge: ({ integrity }) => ({
    looked: 1,
    problems: integrity.flatMap((what) => wrong(`The integrity check of the database reports: ${what}`)),
  }),
};
