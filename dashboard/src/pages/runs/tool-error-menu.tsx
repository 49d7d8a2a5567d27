import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ANY_TOOL } from "../../../../src/core/call/any-tool.ts";
import { useDashboard } from "../../live/dashboard-context.ts";
import { Menu, MenuItem } from "../../parts/controls/menu.tsx";
import { VisibleLine } from "../../parts/text/visible.tsx";
import { counted } from "../../words/money-words.ts";
import { FilterLabel } from "./filter-label.tsx";
import { toolWords } from "./run-filter.ts";

const LISTED = 30;

type ToolErrorMenuProps = {
  /** The tool, or any; null for all runs. */
  readonly chosen: string | null;
  readonly onChoose: (tool: string | null) => void;
};

/** Runs with a call that failed: of any tool, or of one that has such calls. */
export function ToolErrorMenu({ chosen, onChoose }: ToolErrorMenuProps): ReactNode {
  const { client } = useDashboard();
  const failed = useQuery({
    queryKey: ["tool-errors"],
    queryFn: ({ signal }) => client.listToolErrors({ limit: LISTED, signal }),
    staleTime: 60_000,
  });
  const tools = failed.data?.items ?? [];
  const isListed = chosen === null || chosen === ANY_TOOL || tools.some(({ tool }) => tool === chosen);
  return (
    <Menu label={<FilterLabel name="Tool error" value={chosen === null ? "" : toolWords(chosen)} />}>
      {/* The one of the address may be none of those that failed. */}
      {[null, ANY_TOOL, ...(isListed ? [] : [chosen])].map((tool) => (
        <MenuItem key={tool} isChosen={tool === chosen} onSelect={() => onChoose(tool)}>
          {tool === null ? "with or without" : <VisibleLine text={toolWords(tool)} />}
        </MenuItem>
      ))}
      {tools.map(({ tool, runs }) => (
        <MenuItem key={tool} isChosen={tool === chosen} onSelect={() => onChoose(tool)}>
          <VisibleLine text={tool} />
          <span className="ml-auto pl-2 text-xs text-ink-3">{counted(runs, "run")}</span>
        </MenuItem>
      ))}
    </Menu>
  );
}
