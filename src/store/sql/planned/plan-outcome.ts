import type { Row } from "../row.ts";
import type { RunKey } from "../table-list.ts";
import type { CommitPlan } from "./plan.ts";
import { COMMIT, type ServerSession, type Statement } from "./server-session.ts";

/** Where the run of a plan is. */
export type PlanOutcome =
  /** At the plan's own event, or past it by others' hands while this owner has it. */
  | "done"
  /** Past it, and another owner has the run. */
  | "followed"
  /** Where it was before the plan. */
  | "unmoved"
  /** Elsewhere. */
  | "moved";

/**
 * Whether plans were committed, read from the log: the hash of its event says whose it is. Waits for sessions that still
 * have the rows. "Unmoved" alone proves nothing: the first try may still be under way, so the same plan is sent again and
 * the compare-and-set decides.
 */
export async function outcomesOf(
  session: ServerSession,
  plans: readonly CommitPlan[],
  owner: string,
): Promise<ReadonlyMap<CommitPlan, PlanOutcome>> {
  const moves = plans
    .map((plan) => ({ plan, move: headMove(plan) }))
    // In the order of their keys, as everyone locks rows.
    .sort((a, b) => (String(a.move?.key) < String(b.move?.key) ? -1 : 1));
  const questions = moves.flatMap(({ move }) => (move === null ? [] : questionsAbout(move)));
  const answers = (await session.exchange([...session.begin, ...questions, COMMIT])).slice(
    session.begin.length,
  );
  let next = 0;
  return new Map(
    moves.map(({ plan, move }) => [
      plan,
      move === null ? "moved" : outcomeOf(move, answers[next++]?.[0], answers[next++]?.[0], owner),
    ]),
  );
}

function questionsAbout({ key, seq }: HeadMove): Statement[] {
  return [
    { text: "SELECT event_hash, owner FROM runs WHERE run_key = ? FOR UPDATE", values: [key] },
    { text: "SELECT hash FROM events WHERE run_key = ? AND seq = ?", values: [key, seq] },
  ];
}

function outcomeOf(move: HeadMove, run: Row | undefined, event: Row | undefined, owner: string): PlanOutcome {
  if (run === undefined || isSame(run.bytes("event_hash"), move.previousHash)) return "unmoved";
  if (event === undefined || !isSame(event.bytes("hash"), move.hash)) return "moved";
  const isLast = isSame(run.bytes("event_hash"), move.hash);
  return isLast || run.optionalText("owner") === owner ? "done" : "followed";
}

/** The change of a run's head that a plan makes: from the last event that it knows to its own last one. */
type HeadMove = {
  readonly key: RunKey;
  readonly previousHash: Uint8Array;
  readonly seq: number;
  readonly hash: Uint8Array;
};

/** The first head that a plan moves, and where to; null if it moves none. */
function headMove({ writes }: CommitPlan): HeadMove | null {
  const moves = writes.filter((write) => write.kind === "advance");
  const first = moves[0];
  const last = moves.findLast(({ key }) => key === first?.key);
  if (first === undefined || last === undefined) return null;
  const { event_seq: seq, event_hash: hash } = last.set;
  if (typeof seq !== "number" || !(hash instanceof Uint8Array)) throw new Error("A head moves to no event.");
  return { key: first.key as RunKey, previousHash: first.previousHash, seq, hash };
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}
