import { type UseMutationResult, useMutation, useQueryClient } from "@tanstack/react-query";
import type { WaitDetail, WaitKind } from "../../api/documents.ts";
import { useDashboard } from "../../live/dashboard-context.ts";

type Value = WaitDetail["answer"];

/** What a person decides about a wait. */
export type WaitAct =
  | { readonly act: "approve" }
  | { readonly act: "deny"; readonly why: string }
  | { readonly act: "answer"; readonly value: Value }
  | { readonly act: "settle"; readonly as: "succeeded"; readonly result: Value }
  | { readonly act: "settle"; readonly as: "failed"; readonly why: string }
  | { readonly act: "settle"; readonly as: "retry" };

/** Which acts answer a kind of wait, the most likely one first. */
export function actsOf(wait: {
  readonly kind: WaitKind;
  readonly toolCallId: string | null;
}): readonly WaitAct["act"][] {
  switch (wait.kind) {
    case "approval":
    case "possible_duplicate":
      return ["approve", "deny"];
    case "in_doubt":
      return ["settle"];
    case "escalation":
      return wait.toolCallId === null ? ["answer"] : ["settle", "answer"];
    case "question":
      return ["answer"];
    case "budget":
      return ["answer", "deny"];
    case "time":
    case "message":
      return [];
  }
}

/** Does what the person decided. The wait is read again in any case: another person may have been faster. */
export function useWaitAct(wait: WaitDetail): UseMutationResult<unknown, Error, WaitAct> {
  const { client } = useDashboard();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (given: WaitAct): Promise<unknown> => {
      const input = { waitId: wait.waitId };
      switch (given.act) {
        case "approve":
          // What was shown is what runs: the server refuses another hash.
          return client.approveWait(input, { argumentsHash: wait.argumentsHash });
        case "deny":
          return client.denyWait(input, { why: given.why });
        case "answer":
          return client.answerWait(input, { value: given.value });
        case "settle": {
          if (wait.toolCallId === null) throw new Error(`${wait.waitId} is about no call.`);
          const { act: _, ...settlement } = given;
          return client.settleCall({ callId: wait.toolCallId }, settlement);
        }
      }
    },
    onSettled: async () => {
      await Promise.all([
        queries.invalidateQueries({ queryKey: ["waits"] }),
        queries.invalidateQueries({ queryKey: ["wait", wait.waitId] }),
      ]);
    },
  });
}
