import type { Command } from "../context/command.ts";
import { TRUST_OPTION } from "../job/job-trust.ts";

export const crashtest: Command = {
  name: "crashtest",
  summary: "Kill a pipeline at every point where its process could die, and see what would happen twice",
  arguments: [{ name: "pipeline", summary: "a pipeline of pawl.config.ts, or a job file" }],
  options: [
    { flags: "--input <text>", summary: "what the run is given; @file reads a file" },
    {
      flags: "--run <id>",
      summary: "go by this run that succeeded, and not by crashtests in pawl.config.ts",
    },
    {
      flags: "--mode <modes>",
      summary: "of crash, twice, pause, random, with commas (crash,pause unless said)",
    },
    { flags: "--pairs <n>", summary: "with twice: how many pairs of crashes, or all (100 unless said)" },
    { flags: "--courses <n>", summary: "with random: how many courses (50 unless said)" },
    { flags: "--seed <n>", summary: "what chance is made from (1 unless said)" },
    { flags: "--schedule <text>", summary: "only this one, as a report names it" },
    TRUST_OPTION,
  ],
  example: "pawl crashtest report",
  execute: async (context, input) => {
    // Loaded when it is needed: every command would take longer to start otherwise.
    const { crashtestPipeline } = await import("../crashtest/crashtest-work.ts");
    return crashtestPipeline(context, input);
  },
};
