import { writtenIn } from "../../../core/message.ts";
import type { LineageRecord } from "../../../store/store.ts";
import type { Evidence, RunAccount } from "../evidence.ts";
import { checkEach, FINE, type Invariant, type Problem, wrong } from "../invariant.ts";
import type { WitnessLine } from "../witness.ts";
import { allLines, earlierAndLater, objectOf } from "./observations.ts";

type AskedLine = Extract<WitnessLine, { kind: "asked" }>;

/** A lineage that began with a summary. */
type Compacted = LineageRecord & { readonly summary: string };

export const compactedOnce: Invariant = {
  name: "compacted-once",
  promise:
    "A summary that is stored stays, and is never asked for again; from then on the model sees it, and nothing that it replaced.",
  judge: (evidence) => {
    const kept = checkEach(
      earlierAndLater(evidence).flatMap(({ account, later, laterWhen }) =>
        compactionsOf(account).map((compaction) => ({ compaction, later, laterWhen })),
      ),
      ({ compaction, later, laterWhen }) => judgeKept(compaction, later, laterWhen),
    );
    const { accounts } = evidence.again;
    const once = checkEach(
      accounts.flatMap((account) => compactionsOf(account).map((compaction) => ({ compaction, account }))),
      ({ compaction, account }) => [
        ...judgeOnce(compaction, account),
        ...judgeSeen(compaction, account, evidence),
      ],
    );
    return { looked: kept.looked + once.looked, problems: [...kept.problems, ...once.problems] };
  },
};

function compactionsOf({ lineages }: RunAccount): readonly Compacted[] {
  return lineages.filter((lineage): lineage is Compacted => lineage.summary !== null);
}

function nameOf({ stepPath, firstTurn }: LineageRecord): string {
  return `The summary before turn ${firstTurn} of ${stepPath}`;
}

function judgeKept(compaction: Compacted, later: RunAccount | null, laterWhen: string): readonly Problem[] {
  const { stepPath, lineage, firstTurn, baseTurn, summary } = compaction;
  const found = later?.lineages.find((other) => other.stepPath === stepPath && other.lineage === lineage);
  const isSame = found?.summary === summary && found.firstTurn === firstTurn && found.baseTurn === baseTurn;
  return isSame ? FINE : wrong(`${nameOf(compaction)} is another one ${laterWhen}`);
}

/** One summary for each place, and nothing abandoned. */
function judgeOnce(compaction: Compacted, account: RunAccount): readonly Problem[] {
  const { stepPath, firstTurn, baseTurn } = compaction;
  const same = compactionsOf(account).filter(
    (other) => other.stepPath === stepPath && other.firstTurn === firstTurn,
  );
  if (same.length > 1) return wrong(`${nameOf(compaction)} was made ${same.length} times`);
  if (baseTurn !== firstTurn - 1)
    return wrong(`${nameOf(compaction)} has abandoned the turns after ${baseTurn}`);
  const inExchange = account.exchanges.find(
    (exchange) =>
      exchange.stepPath === stepPath &&
      exchange.firstTurn < firstTurn &&
      (exchange.lastTurn ?? 0) >= firstTurn,
  );
  return inExchange === undefined
    ? FINE
    : wrong(`${nameOf(compaction)} was made inside exchange ${inExchange.exchange}`);
}

/** The requests after a summary have it, and no text that a turn before it has taken. */
function judgeSeen(compaction: Compacted, account: RunAccount, evidence: Evidence): readonly Problem[] {
  // A milestone begins a history without a summary: what the model sees then is not about it.
  if (account.lineages.some(({ summary }) => summary === null)) return FINE;
  const { stepPath, summary, firstTurn } = compaction;
  const next = compactionsOf(account).find(
    (other) => other.stepPath === stepPath && other.firstTurn > firstTurn,
  );
  const requests = allLines(evidence)
    .filter((line): line is AskedLine => line.kind === "asked")
    .filter((line) => line.runId === account.run.runId && line.stepPath === stepPath)
    .filter(
      (line) => isAfter(line, compaction, account) && (next === undefined || !isAfter(line, next, account)),
    );
  const old = account.messages.filter(
    ({ takenBy }) => takenBy !== null && takenBy.stepPath === stepPath && takenBy.turn < firstTurn,
  );
  return requests.flatMap(({ turnIndex, attempt, heard }) => {
    const text = heard.join("\n");
    if (!text.includes(summary))
      return wrong(`${nameOf(compaction)} was not shown to attempt ${attempt} at turn ${turnIndex}`);
    const seen = old.find(({ body }) => text.includes(writtenIn(body)) && !summary.includes(writtenIn(body)));
    return seen === undefined
      ? FINE
      : wrong(
          `Message ${seen.id}, which a summary replaced, was shown to attempt ${attempt} at turn ${turnIndex}`,
        );
  });
}

/** True for a request after the summary was stored: its own request is an attempt at the same turn. */
function isAfter(
  { turnIndex, attempt }: AskedLine,
  { stepPath, lineage, firstTurn }: Compacted,
  account: RunAccount,
) {
  if (turnIndex !== firstTurn) return turnIndex > firstTurn;
  const begun = account.events.find(({ type, data }) => {
    const facts = objectOf(data);
    return type === "lineage.begun" && facts.step === stepPath && facts.lineage === lineage;
  });
  const own = begun === undefined ? null : objectOf(begun.data).attempt;
  return attempt > (typeof own === "number" ? own : 0);
}
