import { z } from "zod";
import { type SessionTool, sessionTool } from "./session-tool.ts";
import { builtInSlice, type Slice } from "./slice.ts";

const SECTIONS_OPENED = "SectionsOpened";

type SectionsOpened = { readonly type: typeof SECTIONS_OPENED; readonly keys: readonly string[] };

/** The keys of the sections that the agent has opened, each once. Session state, so a resumed run shows the same. */
export const openSectionsSlice: Slice<string> = builtInSlice<string>({
  name: "open_sections",
  schema: z.string(),
  reducers: {
    [SECTIONS_OPENED]: (open, { keys }: SectionsOpened) =>
      Array.isArray(keys) ? [...new Set([...open, ...(keys as readonly string[])])] : open,
  },
});

/** The tool with which the agent opens sections that are shown as summaries. */
export function openSectionsTool(closable: readonly string[]): SessionTool {
  return sessionTool({
    name: "open_sections",
    description:
      "Show sections of the instructions in full that are shown as summaries. They stay open from then on.",
    inputSchema: z.object({
      keys: z.array(z.string().meta({ enum: [...closable] })).describe("The keys of the sections."),
    }),
    run: ({ keys }, session) => {
      const list = closable.join(", ");
      if (keys.length === 0) throw new Error(`Give at least one key: ${list}.`);
      const unknown = keys.find((key) => !closable.includes(key));
      if (unknown !== undefined)
        throw new Error(`There is no section ${JSON.stringify(unknown)} to open: use ${list}.`);
      session.dispatch({ type: SECTIONS_OPENED, keys });
      return `Opened ${[...new Set(keys)].join(", ")}: the instructions show all of it from the next turn on.`;
    },
  });
}
