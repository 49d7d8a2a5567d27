import dns from "node:dns";
import { syncBuiltinESMExports } from "node:module";
import { onTestFinished } from "vitest";

/** Until the test ends, every host name resolves to this machine, as the owner of a domain can arrange. */
export function resolveEveryNameToLocalhost(): void {
  const { lookup } = dns;
  const stub = (_name: string, _options: unknown, callback: (...answer: unknown[]) => void) =>
    callback(null, [{ address: "127.0.0.1", family: 4 }]);
  dns.lookup = stub as unknown as typeof dns.lookup;
  syncBuiltinESMExports();
  onTestFinished(() => {
    dns.lookup = lookup;
    syncBuiltinESMExports();
  });
}
