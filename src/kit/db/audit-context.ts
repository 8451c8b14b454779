// The actor of a request, for the audit log. A change of an audited row (migrations/0016_audit.sql) takes the actor from a
// setting of its transaction. Like the tenant, the actor comes from the request and not from arguments.

import { AsyncLocalStorage } from 'node:async_hooks'

/** Who makes the changes of a request, and how. */
export interface AuditContext {
  actorType: 'api_key' | 'operator' | 'user'
  actorId: string
  /** Of a person: the role and the session. */
  role?: string
  sessionId?: string
  address: string
  requestId: string
  /** Method and path, such as POST /api/v1/refunds, or the name of a step such as sign_out. */
  operation: string
  /** The id in the path of the request, which names the object of the entry. */
  target: string | null
  at: Date
}

const auditContext = new AsyncLocalStorage<string>()

/** Runs the work of a request: its changes of audited rows are recorded. */
export function runAudited<Result>(context: AuditContext, work: () => Result): Result {
  return auditContext.run(JSON.stringify(context), work)
}

/** The context as the database takes it; undefined for background jobs, pages and payments. */
export function currentAudit(): string | undefined {
  return auditContext.getStore()
}
