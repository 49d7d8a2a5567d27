import { isPostgres } from "../../store/postgres-address.ts";
import { EXPLORER_MODES, type ExplorerMode } from "../../testing/crash/explorer-options.ts";
import { parseSchedule, type Schedule } from "../../testing/crash/schedule.ts";
import type { CommandInput } from "../context/command.ts";
import { WrongUseError } from "../context/wrong-use-error.ts";

/** Which schedules to run, and on which database. */
export type CrashtestOptions = {
  readonly database?: string;
  readonly modes?: readonly ExplorerMode[];
  readonly pairs?: number | "all";
  readonly courses?: number;
  readonly seed?: number;
  readonly schedule?: Schedule;
};

export function readCrashtestOptions(input: CommandInput): CrashtestOptions {
  return { ...readDatabase(input), ...readSchedules(input) };
}

export function readDatabase(input: CommandInput): Pick<CrashtestOptions, "database"> {
  const database = input.text("database");
  if (database === null) return {};
  if (isPostgres(database)) return { database };
  throw new WrongUseError(
    "--database takes the address of a PostgreSQL database, postgres://user@host/database: leave it out for SQLite.",
  );
}

function readSchedules(input: CommandInput): CrashtestOptions {
  const modes = readModes(input.text("mode"));
  const pairs = input.text("pairs") === "all" ? "all" : input.wholeNumber("pairs", 1);
  const courses = input.wholeNumber("courses", 1);
  const seed = input.wholeNumber("seed", 0);
  const text = input.text("schedule");
  if (text !== null) {
    const other = ["mode", "pairs", "courses", "seed"].find((name) => input.text(name) !== null);
    if (other !== undefined)
      throw new WrongUseError(`--schedule replays one schedule: leave out --${other}.`);
    return { schedule: parseSchedule(text) };
  }
  if (pairs !== null) assertMode(modes, "twice", "--pairs");
  if (courses !== null) assertMode(modes, "random", "--courses");
  return {
    ...(modes === null ? {} : { modes }),
    ...(pairs === null ? {} : { pairs }),
    ...(courses === null ? {} : { courses }),
    ...(seed === null ? {} : { seed }),
  };
}

function readModes(text: string | null): readonly ExplorerMode[] | null {
  if (text === null) return null;
  return text.split(",").map((word) => {
    const mode = EXPLORER_MODES.find((each) => each === word.trim());
    if (mode !== undefined) return mode;
    throw new WrongUseError(
      `--mode has ${JSON.stringify(word)}: it takes a comma-separated list of ${EXPLORER_MODES.join(", ")}.`,
    );
  });
}

function assertMode(modes: readonly ExplorerMode[] | null, mode: ExplorerMode, flag: string): void {
  if (modes?.includes(mode) === true) return;
  throw new WrongUseError(`${flag} is for ${mode}: add --mode ${[...(modes ?? []), mode].join(",")}.`);
}
