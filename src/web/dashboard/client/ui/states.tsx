/** What a place shows when it has nothing to show: it is empty, it is still coming, or it failed. */
import type { ComponentChildren } from 'preact';
import { texts } from '../../texts.ts';
import { type ApiProblem, messageOf } from '../api/problem.ts';
import type { Resource } from '../state/resource.ts';
import { Button } from './button.tsx';
import { Icon, type IconName } from './icon.tsx';

export interface EmptyProps {
  readonly icon: IconName;
  readonly title: string;
  readonly text?: string;
  readonly children?: ComponentChildren;
}

export function Empty({ icon, title, text, children }: EmptyProps) {
  return (
    <div class="empty">
      <span class="empty-icon">
        <Icon name={icon} size={24} />
      </span>
      <h2>{title}</h2>
      {text !== undefined && <p>{text}</p>}
      {children !== undefined && <div class="empty-actions">{children}</div>}
    </div>
  );
}

export function Failure({
  problem,
  onRetry,
}: {
  readonly problem: ApiProblem | Error;
  readonly onRetry: () => void;
}) {
  return (
    <div class="empty" role="alert">
      <span class="empty-icon empty-problem">
        <Icon name="cloudOff" size={24} />
      </span>
      <h2>{texts.errors.title}</h2>
      <p>{messageOf(problem)}</p>
      <div class="empty-actions">
        <Button icon="refresh" onClick={onRetry}>
          {texts.actions.retry}
        </Button>
      </div>
    </div>
  );
}

/** Grey bars where lines will be. */
export function Skeleton({ lines = 3, tall = false }: { readonly lines?: number; readonly tall?: boolean }) {
  return (
    <div class="skeleton" role="status" aria-label={texts.loading}>
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} class={tall ? 'bar bar-tall' : 'bar'} />
      ))}
    </div>
  );
}

/** The value of a resource once it is there; until then what stands for it. */
export function Loaded<Value>({
  resource,
  skeleton = <Skeleton />,
  children,
}: {
  readonly resource: Resource<Value>;
  readonly skeleton?: ComponentChildren;
  readonly children: (value: Value) => ComponentChildren;
}) {
  if (resource.value !== undefined) return <>{children(resource.value)}</>;
  if (resource.problem !== undefined) return <Failure problem={resource.problem} onRetry={resource.reload} />;
  return <>{skeleton}</>;
}
