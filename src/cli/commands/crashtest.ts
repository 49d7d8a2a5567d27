import type { Command } from "../context/command.ts";
import { TRUST_OPTION } from "../job/job-trust.ts";

export const crashtest: Command = {
  name: "crashtest",
  summary: "Kill a pipeline at every point where its process could die, and check what is lost or done twice",
  arguments: [{ name: "pipeline", summary: "a pipeline of pawl.config.ts, or a job file" }],
  options: [
    { flags: "--input <text>", summary: "the input of the run; @file reads a file" },
    {
      flags: "--run <id>",
      summary: "replay this succeeded run instead of using crashtests of pawl.config.ts",
    },
    {
      flags: "--mode <modes>",
      summary: "a comma-separated list of crash, twice, pause, close, disk, random (default: crash,pause)",
    },
    { flags: "--pairs <n>", summary: "with twice: the number of crash pairs, or all (default: 100)" },
    { flags: "--courses <n>", summary: "with random: the number of random schedules (default: 50)" },
    { flags: "--seed <n>", summary: "the random seed (default: 1)" },
    {
      flags: "--database <url>",
      summary:
        "work on this PostgreSQL database, in schemas that are made there and dropped again (default: SQLite files)",
    },
    { flags: "--schedule <text>", summary: "replay one schedule, as printed in a report" },
    TRUST_OPTION,
  ],
  example: "pawl crashtest report",
  execute: async (context, input) => {
    // Imported on demand to keep the start of other commands fast.
    const { crashtestPipeline } = await import("../crashtest/crashtest-pipeline.ts");
    return crashtestPipeline(context, input);
  },
};
