import { spawn } from "node:child_process";

const OPENERS: { readonly [platform: string]: readonly [string, ...string[]] } = {
  darwin: ["open"],
  win32: ["cmd", "/c", "start", ""],
};

/** Opens an address in the user's browser. The address was printed too: where there is no browser, nothing is lost. */
export function openBrowser(url: string): void {
  const [command, ...more] = OPENERS[process.platform] ?? ["xdg-open"];
  const child = spawn(command, [...more, url], { detached: true, stdio: "ignore" });
  child.on("error", () => undefined);
  child.unref();
}
