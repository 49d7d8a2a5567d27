// A new job file shows the access it needs, and waits for confirmation.

import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runCommandLine } from "../../../src/cli/program.ts";
import { CliFolder } from "../cli-process.ts";
import { pawl } from "../recording-context.ts";
import { ENTER, Typist, UP } from "../typist.ts";

const JOB = `
objective: Keep it
artifacts: { workspace_dir: out/<run_id> }
constraints: { allowed_domains: [example.com] }
pipeline:
  name: keep
  tools: { notify: { url: "https://hooks.example.com/\${HOOK_KEY}" } }
  steps:
    - { name: write, tool: write_file, with: { path: a.txt, text: Hello } }
    - { name: stop, ask: "Tell them?" }
    - { name: tell, tool: notify, with: { text: "Hello" }, when: { step: stop, equals: yes } }
`;

function jobFolder(): { readonly folder: CliFolder; readonly env: { readonly [name: string]: string } } {
  const folder = new CliFolder('export default { jobs: { environment: ["HOOK_KEY"] } };\n');
  mkdirSync(join(folder.path, "home"));
  folder.write("job.yaml", JOB);
  return { folder, env: { HOME: join(folder.path, "home"), HOOK_KEY: "k-1234567890" } };
}

const notesIn = ({ path }: CliFolder) => join(path, "home/.local/state/pawl/trusted-jobs");

async function answering(folder: CliFolder, env: object, ...keys: readonly string[]): Promise<Typist> {
  const typist = new Typist(folder.path, { ...env });
  const command = runCommandLine(["run", "job.yaml", "--fresh"], typist.context);
  await typist.sees("Run it?");
  await typist.types(...keys);
  // The question of the run itself is left for later.
  if (keys.length > 1) {
    await typist.sees("Your answer:");
    await typist.types("\u001b");
  }
  await command;
  return typist;
}

describe("a new job file", () => {
  it("is refused without a terminal, with the access it needs and --trust in one sentence", async () => {
    const { folder, env } = jobFolder();
    for (const flags of [[], ["--json"]]) {
      const { exitCode, stdout, stderr } = await pawl(["run", "job.yaml", ...flags], {
        cwd: folder.path,
        env,
      });
      expect(exitCode).toBe(2);
      expect(`${stdout}${stderr}`.replaceAll('\\"', '"')).toContain(
        'job.yaml has not been run here before, and needs access to the variable HOOK_KEY; the host hooks.example.com; the host example.com; the folder "out/<run_id>": review it, then run it once in a terminal to confirm, or with --trust.',
      );
      expect(`${stdout}${stderr}`).not.toContain("k-1234567890");
    }
    expect(existsSync(join(folder.path, "out"))).toBe(false);
  });

  it("runs with --trust, which stores nothing", async () => {
    const { folder, env } = jobFolder();
    expect((await pawl(["run", "job.yaml", "--trust"], { cwd: folder.path, env })).exitCode).toBe(3);
    expect((await pawl(["run", "job.yaml", "--fresh"], { cwd: folder.path, env })).exitCode).toBe(2);
  });

  it("is shown at a terminal, and not run unless the user confirms", async () => {
    const { folder, env } = jobFolder();
    const typist = await answering(folder, env, ENTER);
    const seen = typist.terminal.rows.join("\n");
    expect(seen).toContain("It needs access to:");
    expect(seen).toMatch(
      /variable +HOOK_KEY\n +host +hooks\.example\.com\n +host +example\.com\n +folder +"out\/<run_id>"/,
    );
    expect(seen).toContain("was not run");
    expect(existsSync(join(folder.path, "out"))).toBe(false);
    expect(readdirSync(notesIn(folder))).toEqual([]);
  });

  it("is not shown again after confirmation, until its text or location changes", async () => {
    const { folder, env } = jobFolder();
    await answering(folder, env, UP, ENTER);
    expect(existsSync(join(folder.path, "out"))).toBe(true);
    const [note = ""] = readdirSync(notesIn(folder));
    expect(statSync(join(notesIn(folder), note)).mode & 0o777).toBe(0o600);
    expect(statSync(notesIn(folder)).mode & 0o777).toBe(0o700);
    const again = () => pawl(["run", "job.yaml", "--fresh"], { cwd: folder.path, env });
    expect((await again()).exitCode).toBe(3);
    folder.write("job.yaml", `${JOB}# Another text.\n`);
    expect((await again()).stderr).toContain("has not been run here before");
    folder.write("job.yaml", JOB);
    expect((await again()).exitCode).toBe(3);
    folder.write("copy.yaml", JOB);
    const copy = await pawl(["run", "copy.yaml", "--fresh"], { cwd: folder.path, env });
    expect(copy.stderr).toContain("copy.yaml has not been run here before");
  });

  it("that needs more than job files may access is refused, even with --trust", async () => {
    const { folder, env } = jobFolder();
    await answering(folder, env, UP, ENTER);
    folder.write("pawl.config.ts", "export default {};\n");
    const { exitCode, stderr } = await folder.pawl("run", "job.yaml", "--fresh", "--trust");
    expect({ exitCode, stderr }).toEqual({
      exitCode: 2,
      stderr: expect.stringContaining("tools.notify reads HOOK_KEY, which jobs.environment does not list"),
    });
  });

  it("needs no confirmation without access to the machine or the network", async () => {
    const { folder, env } = jobFolder();
    folder.write("plain.yaml", "objective: x\npipeline: { name: p, steps: [{ name: a, ask: Well? }] }\n");
    expect((await pawl(["run", "plain.yaml"], { cwd: folder.path, env })).exitCode).toBe(3);
  });

  it("is shown without control characters", async () => {
    const { folder, env } = jobFolder();
    folder.write(
      "pawl.config.ts",
      'export default { jobs: { commands: ["echo"], environment: ["HOOK_KEY"] } };\n',
    );
    folder.write(
      "job.yaml",
      'objective: x\npipeline:\n  name: p\n  mcp_servers: { s: { command: echo, args: ["\\e[2Jhidden"] } }\n  steps: [{ name: a, tool: s/x }]\n',
    );
    const { stderr } = await pawl(["run", "job.yaml"], { cwd: folder.path, env });
    expect(stderr).toContain(String.raw`the program "echo" "\u001b[2Jhidden"`);
    expect(stderr).not.toContain("\u001b");
  });

  it("is shown with each word of a program, its folder, and hosts that may be private", async () => {
    const { folder, env } = jobFolder();
    folder.write(
      "pawl.config.ts",
      'export default { jobs: { commands: ["echo"], domains: ["mcp.example!private", "mail.example:25!private"] } };\n',
    );
    folder.write(
      "job.yaml",
      `objective: x
pipeline:
  name: p
  mcp_servers:
    s: { command: echo, args: ["a b", "c\\n-d", "e\\u202ef"], cwd: . }
    t: { url: "https://mcp.example/", private: true }
  tools: { send_mail: { host: mail.example, port: 25, from: a@b.example, private: true } }
  steps: [{ name: a, tool: s/x }, { name: b, tool: t/x }, { name: c, tool: send_mail, with: { to: a@b.example, subject: s, text: t } }]
`,
    );
    const { stderr } = await pawl(["run", "job.yaml"], { cwd: folder.path, env });
    expect(stderr).toContain(
      String.raw`the program "echo" "a b" "c\n-d" "e\u202ef"; the host mcp.example, even if it is a private address; the host mail.example:25, even if it is a private address: review`,
    );
  });
});
