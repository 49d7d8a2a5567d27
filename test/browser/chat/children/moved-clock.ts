// Imported before everything else: the clock of this process is ahead by MOVED_MS.

const moved = Number(process.env.MOVED_MS ?? 0);
const Now = Date;

globalThis.Date = new Proxy(Now, {
  construct: (target, args: [], self) =>
    Reflect.construct(target, args.length === 0 ? [target.now() + moved] : args, self) as Date,
  get: (target, name, self) =>
    name === "now" ? () => target.now() + moved : (Reflect.get(target, name, self) as unknown),
});
