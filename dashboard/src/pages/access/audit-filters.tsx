import { type ReactNode, useState } from "react";
import { Button } from "../../parts/controls/button.tsx";
import { Icon } from "../../parts/controls/icon.tsx";
import { Menu, MenuItem } from "../../parts/controls/menu.tsx";
import { PERIODS } from "../../words/periods.ts";
import type { AuditFilter } from "./audit-filter.ts";

type AuditFiltersProps = {
  readonly filter: AuditFilter;
  readonly acts: readonly string[];
  readonly onChange: (change: Partial<AuditFilter>, options?: { readonly replace?: boolean }) => void;
};

/** Whole names: the server looks for equal ones. */
export function AuditFilters({ filter, acts, onChange }: AuditFiltersProps): ReactNode {
  const isFiltered = Object.values(filter).some((value) => value !== null);
  return (
    <div role="group" aria-label="Filters" className="flex flex-wrap items-center gap-2">
      <FilterField label="Who" value={filter.who} onChange={(who) => onChange({ who })} />
      <FilterField label="Act" value={filter.act} choices={acts} onChange={(act) => onChange({ act })} />
      <FilterField label="Target" value={filter.target} onChange={(target) => onChange({ target })} />
      <Menu label={filter.since === null ? "Since ever" : `The last ${filter.since}`}>
        {[null, ...PERIODS].map((since) => (
          <MenuItem key={since} isChosen={filter.since === since} onSelect={() => onChange({ since })}>
            {since === null ? "ever" : `the last ${since}`}
          </MenuItem>
        ))}
      </Menu>
      {isFiltered && (
        <Button kind="quiet" onClick={() => onChange({ who: null, act: null, target: null, since: null })}>
          Clear <Icon name="close" className="size-2.5" />
        </Button>
      )}
    </div>
  );
}

type FilterFieldProps = {
  readonly label: string;
  readonly value: string | null;
  readonly choices?: readonly string[];
  readonly onChange: (value: string | null) => void;
};

/** Taken with Enter, or when the field is left. */
function FilterField({ label, value, choices, onChange }: FilterFieldProps): ReactNode {
  const [typed, setTyped] = useState(value ?? "");
  const [given, setGiven] = useState(value);
  if (given !== value) {
    setGiven(value);
    setTyped(value ?? "");
  }
  const take = (): void => {
    const next = typed.trim() === "" ? null : typed.trim();
    if (next !== value) onChange(next);
  };
  const list = choices === undefined ? undefined : `audit-${label}`;
  return (
    <label className="min-w-0">
      <span className="sr-only">{label}</span>
      <input
        placeholder={label.toLowerCase()}
        value={typed}
        list={list}
        maxLength={200}
        className="h-7 w-36 rounded-md border border-line bg-panel px-2 placeholder:text-ink-3 max-sm:w-28"
        onChange={({ target }) => setTyped(target.value)}
        onBlur={take}
        onKeyDown={({ key }) => key === "Enter" && take()}
      />
      {choices !== undefined && (
        <datalist id={list}>
          {choices.map((choice) => (
            <option key={choice} value={choice} />
          ))}
        </datalist>
      )}
    </label>
  );
}
