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
import type { RunFilter } from "./run-filter.ts";

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
      <Menu label={<Label name="Status" value={filter.status.join(", ")} />}>
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
      <Menu label={<Label name="Pipeline" value={filter.pipeline.join(", ")} />}>
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
      <Menu label={<Label name="Since" value={filter.since ?? ""} />}>
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
      <Search filter={filter} onChange={onChange} />
    </div>
  );
}

function Label({ name, value }: { readonly name: string; readonly value: string }): ReactNode {
  if (value === "") return name;
  return (
    <>
      {name}
      <span className="one-line max-w-40 font-medium text-accent">
        <VisibleLine text={value} />
      </span>
    </>
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
