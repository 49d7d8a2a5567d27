/** A line of a report: a figure, beside its target if it has one. */
export type Line = {
  readonly what: string;
  readonly measured: string;
  readonly target: string;
  readonly met: boolean | null;
};

/** The lines of a part of the report, and its figures in full. */
export type Section = { readonly lines: readonly Line[]; readonly figures: object };

export function figure(what: string, measured: string): Line {
  return { what, measured, target: "", met: null };
}

export function atMost(what: string, value: number, limit: number, unit = ""): Line {
  return { what, measured: withUnit(value, unit), target: `≤ ${limit}${unit}`, met: value <= limit };
}

export function atLeast(what: string, value: number, limit: number, unit = ""): Line {
  return { what, measured: withUnit(value, unit), target: `≥ ${limit}${unit}`, met: value >= limit };
}

/** Ratios have two digits; what has a unit is large, or has one. */
function withUnit(value: number, unit: string): string {
  return unit === "" ? value.toFixed(2) : `${value.toFixed(value < 100 ? 1 : 0)}${unit}`;
}

export function us(value: number): string {
  return `${value.toFixed(0)} µs`;
}

export function printReport(sections: readonly Section[]): void {
  const heading: Line = { what: "", measured: "measured", target: "target", met: null };
  for (const { what, measured, target, met } of [heading, ...sections.flatMap(({ lines }) => lines)]) {
    const mark = met === null ? "" : met ? "✓" : "✗";
    console.log(`${what.padEnd(62)}${measured.padStart(14)}${target.padStart(14)}  ${mark}`);
  }
  const figures = sections.map((section) => section.figures);
  console.log(`\n${JSON.stringify(Object.assign({}, ...figures), null, 2)}`);
}

export function logProgress(what: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${what} …`);
  else process.stderr.write(`${what} …\n`);
}
