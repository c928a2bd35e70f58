/** Keeps the warehouse open as long as the file on disk is the one that was opened; a replaced one is opened anew. */
import { statSync } from 'node:fs';
import type { Warehouse } from '../clicks/warehouse.ts';
import { openSqliteWarehouse } from '../clicks/warehouses/sqlite/warehouse.ts';

export class WarehouseHandle {
  readonly #path: string;
  #open: { warehouse: Warehouse; inode: number | undefined } | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** True when there is no open warehouse, or it is the one on disk. */
  get isCurrent(): boolean {
    return this.#open === undefined || this.#open.inode === this.#inode();
  }

  get(): Warehouse {
    if (!this.isCurrent) this.close();
    if (this.#open === undefined) {
      const warehouse = openSqliteWarehouse(this.#path);
      this.#open = { warehouse, inode: this.#inode() };
    }
    return this.#open.warehouse;
  }

  close(): void {
    const open = this.#open;
    this.#open = undefined;
    open?.warehouse.close().catch(() => undefined);
  }

  #inode(): number | undefined {
    return statSync(this.#path, { throwIfNoEntry: false })?.ino;
  }
}
