import type { Answer } from "../../api/client.ts";

type Call = Answer<"compareRuns">["turns"][number]["calls"][number];

/** `changed`: both runs called the tool here, with another effect. */
export type PairedCall = {
  readonly match: "same" | "changed" | "only_a" | "only_b";
  readonly tool: string;
  readonly a: string | null;
  readonly b: string | null;
};

/** A call that only one run has and one of the same tool that only the other has are one that changed, in their order. */
export function pairedCalls(calls: readonly Call[]): readonly PairedCall[] {
  const onlyB = calls.filter(({ match }) => match === "only_b");
  const paired: PairedCall[] = [];
  for (const call of calls) {
    if (call.match === "only_b") continue;
    const at = call.match === "only_a" ? onlyB.findIndex(({ tool }) => tool === call.tool) : -1;
    const [other] = at === -1 ? [] : onlyB.splice(at, 1);
    paired.push(other === undefined ? call : { match: "changed", tool: call.tool, a: call.a, b: other.b });
  }
  return [...paired, ...onlyB];
}
