/** Keeps the warehouse open as long as the file on disk is the one that was opened; a replaced one is opened anew. */
import { systemClock } from '../base/clock.ts';
import type { WarehouseAccess } from '../clicks/pipeline.ts';
import type { Warehouse } from '../clicks/warehouse.ts';
import { inodeOf, isDamage, openWarehouseFile } from '../clicks/warehouses/sqlite/file.ts';

export class WarehouseHandle implements WarehouseAccess {
  readonly #path: string;
  #open: { warehouse: Warehouse; inode: number | undefined } | undefined;
  /** A file that turned out to be damaged while it was in use. */
  #damaged: number | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** True when there is no open warehouse, or it is the one on disk. */
  get isCurrent(): boolean {
    return this.#open === undefined || this.#open.inode === inodeOf(this.#path);
  }

  get(): Warehouse {
    if (!this.isCurrent) this.close();
    if (this.#open === undefined) {
      const warehouse = openWarehouseFile(this.#path, systemClock.now(), this.#damaged);
      this.#open = { warehouse, inode: inodeOf(this.#path) };
      this.#damaged = undefined;
    }
    return this.#open.warehouse;
  }

  close(cause?: unknown): void {
    const open = this.#open;
    this.#open = undefined;
    if (isDamage(cause)) this.#damaged = open?.inode;
    open?.warehouse.close().catch(() => undefined);
  }
}
