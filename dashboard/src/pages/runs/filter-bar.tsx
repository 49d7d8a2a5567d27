import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { useKeys } from "../../browser/keyboard.ts";
import { useDashboard } from "../../live/dashboard-context.ts";
import { Icon } from "../../parts/controls/icon.tsx";
import { Menu, MenuItem } from "../../parts/controls/menu.tsx";
import { Status } from "../../parts/text/status.tsx";
import { VisibleLine } from "../../parts/text/visible.tsx";
import { PERIODS } from "../../words/periods.ts";
import { STATUSES } from "../../words/statuses.ts";
import { FilterLabel } from "./filter-label.tsx";
import type { RunFilter } from "./run-filter.ts";
import { ToolErrorMenu } from "./tool-error-menu.tsx";

type FilterBarProps = {
  readonly filter: RunFilter;
  readonly onChange: (filter: RunFilter, options?: { readonly replace?: boolean }) => void;
};

export function FilterBar({ filter, onChange }: FilterBarProps): ReactNode {
  const { client } = useDashboard();
  const bar = useRef<HTMLDivElement>(null);
  const pipelines = useQuery({
    queryKey: ["pipelines"],
    queryFn: ({ signal }) => client.listPipelines({ signal }),
    staleTime: 60_000,
  });
  useKeys([{ keys: "f", does: "Filter", run: () => bar.current?.querySelector("button")?.click() }]);
  return (
    <div ref={bar} role="group" aria-label="Filters" className="flex flex-wrap items-center gap-1">
      <Menu label={<FilterLabel name="Status" value={filter.status.join(", ")} />}>
        {STATUSES.map((status) => (
          <MenuItem
            key={status}
            isChosen={filter.status.includes(status)}
            onSelect={() => onChange({ ...filter, status: toggled(filter.status, status) })}
          >
            <Status status={status} />
          </MenuItem>
        ))}
      </Menu>
      <Menu label={<FilterLabel name="Pipeline" value={filter.pipeline.join(", ")} />}>
        {(pipelines.data?.items ?? []).map(({ name }) => (
          <MenuItem
            key={name}
            isChosen={filter.pipeline.includes(name)}
            onSelect={() => onChange({ ...filter, pipeline: toggled(filter.pipeline, name) })}
          >
            <VisibleLine text={name} />
          </MenuItem>
        ))}
        {pipelines.data?.items.length === 0 && (
          <p className="px-2 py-1 text-ink-3">No pipeline is known yet.</p>
        )}
      </Menu>
      <Menu label={<FilterLabel name="Since" value={filter.since ?? ""} />}>
        {[null, ...PERIODS].map((since) => (
          <MenuItem
            key={since}
            isChosen={filter.since === since}
            onSelect={() => onChange({ ...filter, since })}
          >
            {since === null ? "ever" : `the last ${since.replace(/(\d+)/, "$1 ")}`}
          </MenuItem>
        ))}
      </Menu>
      <ToolErrorMenu chosen={filter.toolError} onChoose={(toolError) => onChange({ ...filter, toolError })} />
      <Search filter={filter} onChange={onChange} />
    </div>
  );
}

function toggled<T>(list: readonly T[], item: T): readonly T[] {
  return list.includes(item) ? list.filter((each) => each !== item) : [...list, item];
}

const TYPING_MS = 250;

/** Waits for a pause in typing, so that not every letter is a request. */
function Search({ filter, onChange }: FilterBarProps): ReactNode {
  const field = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState(filter.q);
  const [given, setGiven] = useState(filter.q);
  if (given !== filter.q) {
    setGiven(filter.q);
    setTyped(filter.q);
  }
  useKeys([{ keys: "/", does: "Search", run: () => field.current?.focus() }]);
  useEffect(() => {
    if (typed === filter.q) return;
    const timer = setTimeout(() => onChange({ ...filter, q: typed }, { replace: true }), TYPING_MS);
    return () => clearTimeout(timer);
  });
  return (
    <label className="relative flex-1 sm:max-w-72">
      <span className="sr-only">Search by run id, objective or error</span>
      <Icon name="search" className="absolute top-1.5 left-2 text-ink-3" />
      <input
        ref={field}
        type="search"
        placeholder="id, objective or error"
        value={typed}
        maxLength={200}
        onChange={({ target }) => setTyped(target.value)}
        className="h-7 w-full min-w-40 rounded-md border border-line bg-panel pr-2 pl-7 placeholder:text-ink-3"
      />
    </label>
  );
}
