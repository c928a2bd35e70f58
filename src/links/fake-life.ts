/**
 * For tests of what a crash leaves behind: the life of a process, as the calls that it makes to parts that outlive it.
 * It can end at any of them, before the call has an effect or after; from then on nothing that the process does has any
 * effect, and none of its calls returns.
 */
export interface Death {
  /** The number of the call, from 0. */
  readonly call: number;
  readonly when: 'before' | 'after';
}

const never = new Promise<never>(() => {});

export class FakeLife {
  readonly #death: Death | undefined;
  readonly #died = Promise.withResolvers<void>();
  readonly calls: string[] = [];
  isOver = false;

  constructor(death?: Death) {
    this.#death = death;
  }

  get died(): Promise<void> {
    return this.#died.promise;
  }

  /** The part as the process sees it. */
  seeing<Part extends object>(name: string, part: Part): Part {
    return new Proxy(part, {
      get: (target, property) => {
        const value = Reflect.get(target, property);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) =>
          this.#call(`${name}.${String(property)}`, () => value.apply(target, args));
      },
    });
  }

  #call(name: string, act: () => unknown): unknown {
    if (this.isOver) return never;
    const number = this.calls.push(name) - 1;
    if (this.#isDeath(number, 'before')) return this.#die();
    const result = act();
    if (!(result instanceof Promise)) return isPart(result) ? this.seeing(name, result) : result;
    return result.then(value => {
      if (this.#isDeath(number, 'after')) return this.#die();
      return this.isOver ? never : value;
    });
  }

  #isDeath(call: number, when: Death['when']): boolean {
    return this.#death?.call === call && this.#death.when === when;
  }

  #die(): Promise<never> {
    this.isOver = true;
    this.#died.resolve();
    return never;
  }
}

function isPart(result: unknown): result is object {
  return typeof result === 'object' && result !== null;
}
