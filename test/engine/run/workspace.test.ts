// The folder of a run: a file in it is always whole, and nothing is written or read outside of it.

import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Workspace } from "../../../src/engine/run/workspace.ts";
import { WorkspaceError } from "../../../src/index.ts";
import { temporaryFolder } from "../job-fixture.ts";
import { failureAs, failureOf } from "../run-fixture.ts";

const bytes = (text: string) => Buffer.from(text, "utf8");

const workspaceIn = (path: string) => new Workspace({ path, chosen: path });

/** A workspace, and a folder beside it that must not be touched through it. */
function folders() {
  const root = temporaryFolder();
  const outside = join(root, "outside");
  mkdirSync(outside);
  writeFileSync(join(outside, "secret.txt"), "untouched");
  return { root, outside, inside: join(root, "inside"), workspace: workspaceIn(join(root, "inside")) };
}

function expectUntouched(outside: string): void {
  expect(readdirSync(outside)).toEqual(["secret.txt"]);
  expect(readFileSync(join(outside, "secret.txt"), "utf8")).toBe("untouched");
}

describe("a file of a workspace", () => {
  it("is written with the folders that it needs, and read back", async () => {
    const { workspace, inside } = folders();
    await workspace.write("pages/1/index.html", bytes("<p>One</p>"));
    expect(readFileSync(join(inside, "pages", "1", "index.html"), "utf8")).toBe("<p>One</p>");
    expect(await workspace.read("pages/1/index.html")).toEqual(bytes("<p>One</p>"));
  });

  it("is for its owner alone, with all folders that are created for it", async () => {
    const { root } = folders();
    const path = join(root, "runs/r-1");
    await new Workspace({ path, chosen: join(root, "runs") }).write("pages/1.html", bytes("x"));
    const modes = ["runs", "runs/r-1", "runs/r-1/pages", "runs/r-1/pages/1.html"].map(
      (made) => statSync(join(root, made)).mode & 0o777,
    );
    expect(modes).toEqual([0o700, 0o700, 0o700, 0o600]);
  });

  it("is replaced whole, and leaves nothing beside it", async () => {
    const { workspace, inside } = folders();
    await workspace.write("report.md", bytes("a long first version"));
    await workspace.write("report.md", bytes("short"));
    expect(await workspace.read("report.md")).toEqual(bytes("short"));
    expect(readdirSync(inside)).toEqual(["report.md"]);
  });

  it("may be empty, and may have any bytes", async () => {
    const { workspace } = folders();
    await workspace.write("empty", new Uint8Array());
    await workspace.write("any", new Uint8Array([0, 255, 10, 13]));
    expect(await workspace.read("empty")).toHaveLength(0);
    expect(await workspace.read("any")).toEqual(Buffer.from([0, 255, 10, 13]));
  });

  it("that does not exist is null, also if its folder does not exist", async () => {
    const { workspace } = folders();
    expect(await workspace.read("report.md")).toBeNull();
    expect(await workspace.read("pages/1/index.html")).toBeNull();
  });
});

describe("a name that leads out of the workspace", () => {
  it.each(["../outside/secret.txt", "a/../../outside/secret.txt", "..", "/etc/hostname", "a\\b", "a\0b", ""])(
    "is refused, for reading and for writing: %j",
    async (name) => {
      const { workspace, outside, root } = folders();
      const error = await failureAs(WorkspaceError, workspace.write(name, bytes("x")));
      expect(error.details).toEqual({ name });
      await failureAs(WorkspaceError, workspace.read(name));
      expectUntouched(outside);
      expect(readdirSync(root)).toEqual(["outside"]);
    },
  );

  it("by a folder that is a symbolic link is refused", async () => {
    const { workspace, outside, inside } = folders();
    mkdirSync(inside);
    symlinkSync(outside, join(inside, "pages"));
    const error = await failureAs(WorkspaceError, workspace.write("pages/new.txt", bytes("x")));
    expect(error.message).toContain("pages/new.txt");
    await failureAs(WorkspaceError, workspace.write("pages/deeper/new.txt", bytes("x")));
    await failureAs(WorkspaceError, workspace.read("pages/secret.txt"));
    expectUntouched(outside);
  });

  it("by a symbolic link at its path is not read, and is replaced by what is written", async () => {
    const { workspace, outside, inside } = folders();
    mkdirSync(inside);
    symlinkSync(join(outside, "secret.txt"), join(inside, "report.md"));
    expect(readlinkSync(join(inside, "report.md"))).toContain("secret.txt");
    await failureAs(WorkspaceError, workspace.read("report.md"));
    await workspace.write("report.md", bytes("mine"));
    expect(await workspace.read("report.md")).toEqual(bytes("mine"));
    expect(() => readlinkSync(join(inside, "report.md"))).toThrow("EINVAL");
    expectUntouched(outside);
  });

  it("by a dangling symbolic link is not followed", async () => {
    const { workspace, outside, inside } = folders();
    mkdirSync(inside);
    symlinkSync(join(outside, "new.txt"), join(inside, "report.md"));
    await failureAs(WorkspaceError, workspace.read("report.md"));
    await workspace.write("report.md", bytes("mine"));
    expectUntouched(outside);
  });
});

describe("the path of a workspace file", () => {
  it("is not read or written if it is a folder", async () => {
    const { workspace, inside } = folders();
    mkdirSync(join(inside, "report.md"), { recursive: true });
    await failureAs(WorkspaceError, workspace.read("report.md"));
    await failureOf(workspace.write("report.md", bytes("x")));
    expect(readdirSync(inside)).toEqual(["report.md"]);
  });

  it("is not used as a folder if it is a file", async () => {
    const { workspace, inside } = folders();
    await workspace.write("pages", bytes("a file"));
    await failureAs(WorkspaceError, workspace.write("pages/1.html", bytes("x")));
    expect(readdirSync(inside)).toEqual(["pages"]);
  });

  it("is not read if it is a hard link, which may point elsewhere", async () => {
    const { workspace, outside, inside } = folders();
    mkdirSync(inside);
    linkSync(join(outside, "secret.txt"), join(inside, "report.md"));
    await failureAs(WorkspaceError, workspace.read("report.md"));
    await workspace.write("report.md", bytes("mine"));
    expectUntouched(outside);
  });

  it("is not followed if the run's own folder is a link", async () => {
    const { root, outside } = folders();
    const chosen = join(root, "runs");
    mkdirSync(chosen);
    symlinkSync(outside, join(chosen, "r-1"));
    const workspace = new Workspace({ path: join(chosen, "r-1"), chosen });
    await failureAs(WorkspaceError, workspace.write("report.md", bytes("x")));
    await failureAs(WorkspaceError, workspace.read("secret.txt"));
    await failureAs(WorkspaceError, workspace.mark("r-1"));
    expect(await workspace.realPath()).toBe(join(chosen, "r-1"));
    expectUntouched(outside);
  });

  it.for([
    ["a link", (path: string, outside: string) => symlinkSync(outside, path)],
    ["another folder", (path: string) => mkdirSync(path)],
  ] as const)("is neither read nor written if %s has replaced the run's folder", async ([, put]) => {
    const { root, outside } = folders();
    const chosen = join(root, "runs");
    for (const path of [join(chosen, "r-1"), chosen]) {
      const workspace = new Workspace({ path, chosen });
      await workspace.write("report.md", bytes("mine"));
      renameSync(path, join(root, `moved-${path.length}`));
      put(path, outside);
      await failureAs(WorkspaceError, workspace.write("report.md", bytes("x")));
      await failureAs(WorkspaceError, workspace.read("secret.txt"));
      await failureAs(WorkspaceError, workspace.realPath());
      rmSync(path, { recursive: true });
    }
    expectUntouched(outside);
  });

  it("is created again if the run's folder was removed", async () => {
    const { root } = folders();
    const chosen = join(root, "runs");
    for (const path of [join(chosen, "r-1"), chosen]) {
      const workspace = new Workspace({ path, chosen });
      await workspace.write("report.md", bytes("mine"));
      rmSync(path, { recursive: true });
      await workspace.write("report.md", bytes("again"));
      expect(await workspace.realPath()).toBe(path);
      expect(readFileSync(join(path, "report.md"), "utf8")).toBe("again");
    }
  });

  it("may lead through a link that is the workspace itself and was made by its owner", async () => {
    const { root, outside } = folders();
    symlinkSync(outside, join(root, "chosen"));
    const workspace = workspaceIn(join(root, "chosen"));
    await workspace.write("report.md", bytes("mine"));
    expect(readFileSync(join(outside, "report.md"), "utf8")).toBe("mine");
  });
});
