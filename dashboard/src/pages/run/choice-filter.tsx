import type { ReactNode } from "react";
import { shownLine } from "../../parts/text/visible.tsx";

/** One of some values, or any. */
export function ChoiceFilter({
  name,
  value,
  choices,
  none = "any",
  onValue,
}: {
  readonly name: string;
  readonly value: string | null;
  readonly choices: readonly string[];
  /** What it says if nothing is chosen. */
  readonly none?: string;
  readonly onValue: (value: string | null) => void;
}): ReactNode {
  return (
    <label className="inline-flex items-center gap-1.5 text-xs text-ink-3">
      {name}
      <select
        value={value ?? ""}
        className="h-7 max-w-48 rounded-md border border-edge bg-panel px-1.5 text-sm text-ink"
        onChange={({ target }) => onValue(target.value === "" ? null : target.value)}
      >
        <option value="">{none}</option>
        {choices.map((choice) => (
          <option key={choice} value={choice}>
            {shownLine(choice).replaceAll("_", " ")}
          </option>
        ))}
      </select>
    </label>
  );
}
