import { matchesAction } from "../../core/call/action-pattern.ts";
import { type Classification, classifyTool } from "../../core/call/tool-classification.ts";
import { builtInScope, dedupeOf, SCOPE_TEXTS } from "../../core/call/tool-identity.ts";
import { parseToolName } from "../../core/call/tool-name.ts";
import type { Tool } from "../../engine/definition/tool.ts";
import { loadConfig } from "../config/config-file.ts";
import type { Command } from "../context/command.ts";
import { cleanLine } from "../context/terminal-text.ts";
import { suggestedRecovery } from "../job/tool-advice.ts";
import { formatFacts } from "../screen/table.ts";
import { configuredTools } from "./policy-audit.ts";

export const policyExplain: Command = {
  name: "policy explain",
  summary: "Explain a tool's classification, and what a crash during a call would mean",
  arguments: [{ name: "tool", summary: "the tool's name, configured or not" }],
  options: [{ flags: "--namespace <server>", summary: "the MCP server of the tool" }],
  example: "pawl policy explain GMAIL_SEND_EMAIL",
  execute: async (context, input) => {
    const name = input.argument("tool");
    const server = input.text("namespace");
    const { config } = await loadConfig(context, input.text("config") ?? undefined);
    const all = (await configuredTools(context, config)).filter(
      (each) => server === null || each.tool.server === server,
    );
    const configured =
      all.find((each) => each.name === name) ??
      all.find((each) => matchesAction([name], { ...each.tool, name: each.name }) !== null);
    const classification =
      configured?.classification ??
      classifyTool({ name, declaredEffect: null, declaredRecovery: null, server }, config.policy ?? {});
    const { effect, recovery, rule, reason } = classification;
    const { dedupe, why } = explainDedupe(configured?.name ?? name, classification, configured?.tool);
    const advice = configured === undefined ? null : suggestedRecovery(configured);
    const where = configured === undefined ? null : `${configured.pipeline}, step ${configured.step}`;
    return {
      exitCode: 0,
      document: {
        tool: name,
        namespace: server,
        foundIn: where,
        effect,
        recovery,
        dedupe,
        rule,
        reason,
        advice,
      },
      text: `${cleanLine(name)}\n${formatFacts(context, [
        ["effect", `${effect}: ${cleanLine(reason)}`],
        ["recovery", `${recovery}: ${RECOVERY[recovery]}`],
        ["dedupe", `${dedupe}: ${why}`],
        ["found in", where === null ? "no configured pipeline: classified by its name" : cleanLine(where)],
        advice === null ? null : ["better", advice],
      ])}`,
    };
  },
};

/** Whether two equal calls are one effect, and how they are compared. Constraints of a run are not known here. */
function explainDedupe(
  name: string,
  { effect, known }: Classification,
  tool: Pick<Tool, "dedupe" | "identity"> = { dedupe: null, identity: null },
): { readonly dedupe: "effect" | "call"; readonly why: string } {
  const hasIdentity = tool.identity !== null;
  const scope = hasIdentity ? null : builtInScope(parseToolName(name).tokens, effect);
  const dedupe = dedupeOf(
    { declared: tool.dedupe, hasIdentity, scope, effect, known },
    { noDuplicateExternalActions: false },
  );
  if (dedupe === "call") return { dedupe, why: "every call runs" };
  const how = hasIdentity ? "calls are compared by the tool's `identity`" : null;
  const compared = how ?? (scope === null ? "calls are compared by all arguments" : SCOPE_TEXTS[scope]);
  return { dedupe, why: `once in a run; ${compared}; \`dedupe: "call"\` runs every call` };
}

const RECOVERY = {
  repeat: "after a crash it runs again",
  keyed: "after a crash it runs again with the same idempotency key",
  reconcile: "after a crash its service is asked whether it happened",
  opaque: "after a crash during a call, a person is asked whether it happened",
} as const;
