import type { SessionState } from "../../session/slice-set.ts";
import type { TurnScope } from "./turn-scope.ts";

/** The instructions of the agent for a session in this state. */
export function renderPrompt(
  { run, prepared, document }: Pick<TurnScope, "run" | "prepared" | "document">,
  state: SessionState,
): string {
  const { prompt } = prepared;
  if (prompt.isFixed) return prompt.staticText;
  return prompt.render(
    run.keeper.draft(() => state),
    document.input,
  );
}

/** Renders the instructions from the present session, for the next request. */
export function updatePrompt(scope: TurnScope, turn: number): void {
  const { run, path: step, prepared, conversation } = scope;
  const { session } = run.keeper;
  if (!prepared.prompt.isFixed) conversation.prompt = renderPrompt(scope, session.state);
  const { id: prompt } = prepared.prompt;
  session.bus.publish("PromptRendered", { runId: run.runId, step, turn, prompt, text: conversation.prompt });
}
