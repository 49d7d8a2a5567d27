import { describe, expect, it } from "vitest";
import { ConfigurationError, defineConfig, Pipeline, Step } from "../../../src/index.ts";

const pipelines = {
  report: Pipeline.of(
    "sales-report",
    Step.run("write", () => null),
  ),
};
const config = (over: object) => () => defineConfig({ pipelines, ...over });

describe("the schedules of a configuration", () => {
  it.each(["report", "sales-report"])("start a pipeline by its key or its name: %s", (pipeline) => {
    expect(
      config({ schedules: { nightly: { pipeline, cron: "@daily" } }, scheduleRevision: 7 }),
    ).not.toThrow();
  });

  it.each([
    [{ schedules: { nightly: { pipeline: "raport", cron: "@daily" } } }, /did you mean "report"/],
    [{ schedules: { nightly: { pipeline: "report", cron: "@dayly" } } }, /give one of @hourly/],
    [{ schedules: { nightly: { pipeline: "report", crom: "@daily" } } }, /crom.*cron/],
    [{ schedules: [] }, /schedules is a list/],
    [{ scheduleRevision: -1 }, /scheduleRevision is -1/],
    [{ crons: {} }, /schedules/],
  ])("are refused with a sentence if they cannot fire (%#)", (over, message) => {
    expect(config(over)).toThrow(ConfigurationError);
    expect(config(over)).toThrow(message);
  });
});
