/** A table in a card whose last column holds what can be done with a row. */
import type { ComponentChildren } from 'preact';
import { texts } from '../../texts.ts';

export interface ActionTableProps {
  readonly heads: readonly string[];
  readonly children: ComponentChildren;
}

export function ActionTable({ heads, children }: ActionTableProps) {
  return (
    <div class="card table-card">
      <table>
        <thead>
          <tr>
            {heads.map(head => (
              <th key={head}>{head}</th>
            ))}
            <th>
              <span class="visually-hidden">{texts.keys.actions}</span>
            </th>
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
