// cowry audit …: lists, verifies and exports the audit log.

import type { Command } from 'commander'
import { AUDIT_CSV_HEAD, toAuditCsv } from '../../audit/csv.ts'
import type { OperatorAuditRecord } from '../../audit/schema.ts'
import type { OperatorClient } from '../operator-client.ts'
import { type JsonOption, type PaginationOptions, withJson, withPagination } from '../options.ts'
import type { Shell } from '../shell.ts'
import { CommandError, type Envelope, renderRecord, renderTable, unavailableCellsOf } from '../terminal.ts'

interface FilterOptions extends JsonOption {
  merchant?: string
  object?: string
  objectType?: string
  actor?: string
  operation?: string
  requestId?: string
  address?: string
  from?: string
  to?: string
}

const PATH = '/admin/v1/audit'

export function addAuditCommands(program: Command, shell: Shell): void {
  const audit = program.command('audit').description('Read and verify the audit log: who changed what.')
  withJson(withPagination(withFilters(audit.command('list'))))
    .description('List entries, newest first.')
    .action(async (options: FilterOptions & PaginationOptions) => {
      const { page, limit } = options
      const response = await shell.callOperator('GET', pathOf(options, { page, limit }))
      shell.show(response, options, () => renderEntries(entriesOf(response)))
    })
  withJson(audit.command('verify'))
    .description(
      'Recalculate the hashes of all entries. Exits with 1 if an entry was changed or removed. Keep the printed digest elsewhere: while no entry is added, it stays the same.',
    )
    .option('--merchant <uuid>', 'only the chain of this merchant')
    .action((options: FilterOptions) => verify(shell, options))
  withJson(withFilters(audit.command('export')))
    .description(
      'Print all entries from the oldest on as CSV, as GET /admin/v1/audit/export does, or one JSON document per line with --json.',
    )
    .action((options: FilterOptions) => shell.withOperator((operator) => exportAll(shell, operator, options)))
}

function withFilters(command: Command): Command {
  return command
    .option('--merchant <uuid>', 'only entries about this merchant')
    .option('--object <id>', 'only changes of this object')
    .option('--object-type <type>', 'only changes of this type of object, such as api_key')
    .option('--actor <id>', 'only changes by this API key or operator token')
    .option('--operation <name>', 'only this operation, such as "POST /api/v1/refunds"')
    .option('--request-id <id>', 'only changes of this request')
    .option('--address <address>', 'only changes from this IP address')
    .option('--from <time>', 'only entries from this time on')
    .option('--to <time>', 'only entries until this time')
}

function pathOf(options: FilterOptions, more: Record<string, string | number | undefined>): string {
  const { merchant, object, objectType, actor, operation, requestId, address, from, to } = options
  const filter = { merchant, object, objectType, actor, operation, requestId, address }
  const given = Object.entries({ ...filter, createdFrom: from, createdTo: to, ...more })
  const query = new URLSearchParams()
  for (const [name, value] of given) if (value !== undefined) query.set(name, String(value))
  return query.size > 0 ? `${PATH}?${query}` : PATH
}

// A boundary: the operators' API describes its records in src/audit/schema.ts.
const entriesOf = ({ data }: Envelope) => data as OperatorAuditRecord[]

function renderEntries(entries: OperatorAuditRecord[]): string {
  const rows = entries.map(({ createdAt, actor, address, operation, object }) => [
    createdAt,
    `${actor.type} ${actor.id}`,
    address ?? '',
    operation,
    `${object.type} ${object.id}`,
  ])
  return renderTable(['TIME', 'ACTOR', 'ADDRESS', 'OPERATION', 'OBJECT'], rows)
}

// Ten million entries take about a minute.
const VERIFY_TIMEOUT_MS = 600_000

async function verify(shell: Shell, options: FilterOptions): Promise<void> {
  const query = options.merchant === undefined ? '' : `?merchant=${encodeURIComponent(options.merchant)}`
  const response = await shell.callOperator('GET', `${PATH}/verify${query}`, undefined, VERIFY_TIMEOUT_MS)
  // A boundary: the operators' API describes this record in src/audit/schema.ts.
  const { firstViolations, ...record } = response.data as {
    intact: boolean
    firstViolations: { chain: string; number: number }[]
  }
  if (record.intact) return shell.show(response, options, () => renderRecord(record))
  const places = firstViolations.map(({ chain, number }) => `  ${chain} entry ${number}`).join('\n')
  const message = `The audit log was changed:\n${places}\n\n${renderRecord(record)}`
  throw new CommandError('audit_log_changed', message, {
    ...response,
    status: 'error',
    error: { code: 'audit_log_changed' },
  })
}

async function exportAll(shell: Shell, operator: OperatorClient, options: FilterOptions): Promise<void> {
  const { out } = shell.terminal
  let cursor: string | undefined
  for (let isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const page = await operator.call('GET', pathOf(options, { sort: 'createdAt:asc', limit: 100, cursor }))
    requireComplete(page)
    if (isFirst && !options.json) out(AUDIT_CSV_HEAD)
    for (const entry of entriesOf(page)) out(options.json ? `${JSON.stringify(entry)}\n` : toAuditCsv(entry))
    // A boundary: every list of the API has this meta.
    cursor = (page.meta as { nextCursor: string | null }).nextCursor ?? undefined
  }
}

/** What is printed may be kept as the whole log. */
function requireComplete(page: Envelope): void {
  const down = unavailableCellsOf(page)
  if (down.length === 0) return
  const message = `The export is not complete, because these cells do not answer: ${down.join(', ')}. Export again when they do.`
  throw new CommandError('cells_down', message)
}
