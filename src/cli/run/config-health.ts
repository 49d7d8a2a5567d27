import { failed, type Health, ok, problem } from "../../account/health/health.ts";
import type { PawlConfig } from "../../engine/definition/config.ts";
import { loadConfig } from "../config/config-file.ts";
import { findConfig } from "../config/config-search.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { CommandInput } from "../context/command.ts";
import { counted } from "../screen/format.ts";

/** The check of the configuration, and its content if it was executed. */
export type CheckedConfig = { readonly health: Health; readonly config: PawlConfig | null };

/** Which configuration is found and whether it may be executed; it is executed only with --load-config. */
export async function checkConfig(context: CliContext, input: CommandInput): Promise<CheckedConfig> {
  const file = input.text("config") ?? undefined;
  const unread = (health: Health) => ({ health, config: null });
  try {
    const found = await findConfig(context, file);
    if (found === null)
      return unread(ok("config", "no pawl.config.ts in this project; commands that start runs need one"));
    if (found.refusal !== null)
      return unread(problem("config", "fail", `${found.path} is not used`, found.refusal));
    if (!input.flag("loadConfig"))
      return unread(ok("config", `${found.path}, not executed: add --load-config to do that`));
    const { config } = await loadConfig(context, file);
    const pipelines = counted(Object.keys(config.pipelines ?? {}).length, "pipeline");
    return { health: ok("config", `${found.path}, ${pipelines}`), config };
  } catch (error) {
    return unread(failed("config", error));
  }
}
