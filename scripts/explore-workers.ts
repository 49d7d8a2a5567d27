// Runs the explorer in several processes, each with a part of the scenarios.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** The figures of a scenario, in the order of the table's columns. */
export type ScenarioFigures = { readonly name: string; readonly figures: readonly number[] };

/** The line by which a worker reports figures. */
const FIGURES = "figures ";

export function printFigures(scenario: ScenarioFigures): void {
  console.log(`${FIGURES}${JSON.stringify(scenario)}`);
}

/** The last line of a worker that has explored all of its scenarios. */
const DONE = "figures: all";

export function printDone(): void {
  console.log(DONE);
}

/** Explores the scenarios with these arguments in so many processes; throws if one of them could not. */
export async function exploreInWorkers(
  workers: number,
  names: readonly string[],
  args: readonly string[],
): Promise<readonly ScenarioFigures[]> {
  const found = await Promise.all(
    Array.from({ length: workers }, (_, worker) =>
      runWorker([
        ...args,
        "--figures",
        ...names.filter((_name, i) => i % workers === worker).flatMap((name) => ["--scenario", name]),
      ]),
    ),
  );
  const byName = new Map(found.flat().map((each) => [each.name, each]));
  return names.flatMap((name) => byName.get(name) ?? []);
}

async function runWorker(args: readonly string[]): Promise<readonly ScenarioFigures[]> {
  const program = new URL("explore.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const found: ScenarioFigures[] = [];
  let isDone = false;
  for await (const line of createInterface(child.stdout))
    if (line === DONE) isDone = true;
    else if (line.startsWith(FIGURES)) found.push(JSON.parse(line.slice(FIGURES.length)) as ScenarioFigures);
    else console.log(line);
  const code =
    child.exitCode ?? (await new Promise<number | null>((resolve) => child.once("close", resolve)));
  // 1 if a promise was broken, which the figures say too; and also if the process died of an error.
  if (!isDone || (code !== 0 && code !== 1))
    throw new Error(`A process of the explorer ended with ${code} before its last scenario.`);
  return found;
}
