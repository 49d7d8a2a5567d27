import { type Draft, type Falsification, one, takeOut } from "../invariants-evidence.ts";

type Received = Extract<Draft["witness"][number], { kind: "received" }>;

function isReceived(line: Draft["witness"][number]): line is Received {
  return line.kind === "received";
}

function isEnd(line: Draft["witness"][number]): boolean {
  return isReceived(line) && line.body.includes('"run.succeeded"');
}

/** The message that the run has succeeded: it arrives once. */
function endOf({ witness }: Draft): Received {
  return one(witness.filter(isReceived), isEnd);
}

/** Falsified evidence of webhooks: the scenario `webhook`, whose process dies before it knows that a message has arrived. */
export const FALSIFIED_WEBHOOKS: readonly Falsification[] = [
  [
    "webhook-never-lost",
    "a message never arrived",
    ({ witness }) => void takeOut(witness, isEnd),
    /explored-1:\d+ \(run\.succeeded\) was never received: it arrived 0 times/,
  ],
  [
    "webhook-never-lost",
    "a message was refused, and not sent again",
    ({ witness }) => {
      for (const line of witness) if (isReceived(line)) line.status = 503;
    },
    /explored-1:\d+ \(wait\.opened\) was never received: it arrived \d times/,
  ],
  [
    "webhook-never-lost",
    "a message has another id each time",
    (draft) => void draft.witness.push({ ...endOf(draft), id: "explored-1:99" }),
    /explored-1:99 arrived, and no event asks for it/,
  ],
  [
    "webhook-never-lost",
    "a message says that something else has happened",
    (draft) => {
      const line = endOf(draft);
      line.body = line.body.replace("run.succeeded", "run.failed");
    },
    /\(run\.succeeded\) arrived as "run\.failed"/,
  ],
  [
    "webhook-never-lost",
    "a repeat says something else",
    (draft) => {
      const line = endOf(draft);
      draft.witness.push({ ...line, body: line.body.replace("explored-1", "explored-2") });
    },
    /\(run\.succeeded\) arrived in 2 versions/,
  ],
];
