import { type Draft, type Falsification, one } from "../invariants-evidence.ts";

const messageOf = ({ account }: Draft, id: string) => one(account.messages, (each) => each.id === id);

/** Falsified evidence of a conversation: the scenario `conversation-stop`, with a text in each of its two exchanges. */
export const FALSIFIED_EXCHANGES: readonly Falsification[] = [
  [
    "messages-taken-once",
    "a taken text has no turn",
    (draft) => void (messageOf(draft, "one").takenBy = null),
    /Text one is taken, and its turn is none/,
  ],
  [
    "messages-taken-once",
    "another turn has the text",
    (draft) => {
      const [first, second] = draft.account.turns;
      if (first !== undefined && second !== undefined) second.taken.push(one(first.taken));
    },
    /Message one was taken by turn 1, and another turn has it/,
  ],
  [
    "messages-taken-once",
    "the turn does not have the text",
    ({ account }) => void one(account.turns).taken.splice(0),
    /Message one was taken by turn 1, which does not have it/,
  ],
  [
    "messages-taken-once",
    "the model was not shown the text",
    ({ witness }) => {
      for (const line of witness) if (line.kind === "asked") line.heard.splice(0);
    },
    /Message one was taken by turn 1, whose model never saw it/,
  ],
  [
    "messages-in-order",
    "the second text was taken before the first",
    (draft) => {
      const [one_, two] = [messageOf(draft, "one"), messageOf(draft, "two")];
      [one_.takenBy, two.takenBy] = [two.takenBy, one_.takenBy];
    },
    /Message two came after one, and was taken before it at the end/,
  ],
  [
    "one-sender-an-exchange",
    "an exchange has the text of another person",
    (draft) => void (messageOf(draft, "two").sentBy = "ben"),
    /Exchange 2 of ann has message two of ben at the end/,
  ],
  [
    "exchange-ends-once",
    "an exchange has another end later",
    ({ again }) => void (one(one(again.accounts).exchanges).why = "another reason"),
    /Exchange 1 had ended at the end, and has another end after resuming again/,
  ],
  [
    "exchange-ends-once",
    "an exchange ended twice",
    ({ again }) => {
      const { events } = one(again.accounts);
      events.push({ ...one(events, ({ type }) => type === "exchange.ended"), seq: 99 });
    },
    /Exchange 1 ended as stopped 2 times/,
  ],
  [
    "exchange-ends-once",
    "an exchange is open behind another one",
    ({ again }) => void (one(one(again.accounts).exchanges).endedAt = null),
    /Exchange 1 is open, and another one has begun/,
  ],
  [
    "exchange-ends-once",
    "the run has succeeded with an open exchange",
    ({ again }) => {
      const account = one(again.accounts);
      Object.assign(
        one(account.exchanges, ({ exchange }) => exchange === 2),
        { endedAt: null, outcome: null },
      );
    },
    /Exchange 2 is open, and the run has succeeded/,
  ],
  [
    "exchange-ends-once",
    "a stop has ended the run",
    ({ again }) => {
      const account = one(again.accounts);
      account.run.status = "cancelled";
      account.exchanges.splice(1);
      one(account.exchanges).endedAt = null;
    },
    /Exchange 1 was to stop, and the run is cancelled instead/,
  ],
];

/** Falsified evidence of the scenario `conversation-refused`. */
export const FALSIFIED_REFUSALS: readonly Falsification[] = [
  [
    "messages-taken-once",
    "a text that was refused was sent again",
    ({ witness }) => {
      for (const line of witness) if (line.kind === "asked") line.heard.push("Text one.");
    },
    /Message one was refused in exchange 1, and its model was sent it again/,
  ],
  [
    "messages-taken-once",
    "the mark of a text that was refused was not shown",
    ({ witness }) => {
      for (const line of witness)
        if (line.kind === "asked") line.heard = line.heard.filter((heard) => !heard.startsWith("[Left out"));
    },
    /Message one was taken by turn 1, whose model never saw it/,
  ],
];

/** Falsified evidence of a conversation with pictures: the scenario `conversation-files`. */
export const FALSIFIED_FILES: readonly Falsification[] = [
  [
    "references-have-blobs",
    "a picture is missing",
    ({ account }) => {
      for (const blobId of Object.keys(account.blobs)) account.blobs[blobId] = null;
    },
    /Message one of explored-1 refers to blob [0-9a-f]{8} of \d+ bytes, but at the end it is missing/,
  ],
  [
    "references-have-blobs",
    "a picture is left that no message has",
    ({ account }) => void (account.verification.blobs += 1),
    /explored-1 has a blob at the end that nothing refers to/,
  ],
  [
    "messages-taken-once",
    "the model was shown the text without its picture",
    ({ witness }) => {
      for (const line of witness)
        if (line.kind === "asked") line.heard = line.heard.filter((heard) => !heard.startsWith("file "));
    },
    /Message one was taken by turn 1, whose model never saw it/,
  ],
  [
    "messages-taken-once",
    "an earlier attempt was shown another picture",
    ({ witness }) => {
      const line = one(witness, ({ kind }) => kind === "asked");
      if (line.kind === "asked") line.heard = line.heard.map((heard) => heard.replace(/^file .*/, "file x"));
    },
    /Message one was taken by turn 1, whose model never saw it/,
  ],
];

const isFirst = ({ firstTurn }: { readonly firstTurn: number }) => firstTurn === 3;

/** Falsified evidence of a conversation that was compacted before turns 3 and 5: the scenario `conversation-compaction`. */
export const FALSIFIED_COMPACTIONS: readonly Falsification[] = [
  [
    "compacted-once",
    "a summary is another one later",
    ({ again }) => void (one(one(again.accounts).lineages, isFirst).summary = "We charged for nothing."),
    /The summary before turn 3 of talk is another one after resuming again/,
  ],
  [
    "compacted-once",
    "a summary was made twice",
    ({ again }) => {
      const { lineages } = one(again.accounts);
      lineages.push({ ...one(lineages, isFirst), lineage: 3 });
    },
    /The summary before turn 3 of talk was made 2 times/,
  ],
  [
    "compacted-once",
    "a summary has abandoned turns",
    ({ again }) => void (one(one(again.accounts).lineages, isFirst).baseTurn = 0),
    /The summary before turn 3 of talk has abandoned the turns after 0/,
  ],
  [
    "compacted-once",
    "a summary was made inside an exchange",
    ({ again }) => void (one(one(again.accounts).exchanges).lastTurn = 3),
    /The summary before turn 3 of talk was made inside exchange 1/,
  ],
  [
    "compacted-once",
    "the model was not shown a summary",
    ({ witness }) => {
      for (const line of witness) if (line.kind === "asked" && line.turnIndex === 4) line.heard.splice(0);
    },
    /The summary before turn 3 of talk was not shown to attempt 1 at turn 4/,
  ],
  [
    "compacted-once",
    "the model was shown what a summary replaced",
    ({ witness }) => {
      for (const line of witness)
        if (line.kind === "asked" && line.turnIndex === 4) line.heard.push("Text one.");
    },
    /Message one, which a summary replaced, was shown to attempt 1 at turn 4/,
  ],
];
