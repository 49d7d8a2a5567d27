import type { StreamedRedaction } from "../../core/secret/streamed-redaction.ts";
import type { LiveListener } from "../../core/turn/live-part.ts";
import type { RunSecrets } from "../definition/run-secrets.ts";

/**
 * Passes on the parts of an answer without the run's secrets, also one that comes in several pieces. The end of a part that
 * may be the beginning of a secret is held back until more of it comes, and for good if the answer breaks off.
 */
export function hiddenLive(
  secrets: Pick<RunSecrets, "hideStreamed" | "hideText">,
  live: LiveListener,
): LiveListener {
  const texts = new Map<number, StreamedRedaction>();
  return ({ tool, toolCallId, ...given }) => {
    const { part, end } = given;
    const text = texts.get(part) ?? secrets.hideStreamed();
    texts.set(part, text);
    const delta = text.add(given.delta) + (end === true ? text.end() : "");
    if (end === true) texts.delete(part);
    if (delta === "" && end !== true) return;
    live({
      ...given,
      ...(tool === undefined ? {} : { tool: secrets.hideText(tool) }),
      ...(toolCallId === undefined ? {} : { toolCallId: secrets.hideText(toolCallId) }),
      delta,
    });
  };
}
