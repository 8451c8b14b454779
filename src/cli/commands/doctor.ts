// cowry doctor: checks that the service is ready, that its gateways are usable, that no work is overdue, and that the
// invariants hold.

import type { Command } from 'commander'
import type { OperatorClient } from '../operator-client.ts'
import { type JsonOption, withJson } from '../options.ts'
import type { Shell } from '../shell.ts'
import { CommandError, type Envelope, renderTable } from '../terminal.ts'

interface Check {
  name: string
  ok: boolean
  detail: string
  /** The provider cannot be asked about it, so a person must look. It does not fail the command. */
  byHand?: true
}

export function addDoctorCommand(program: Command, shell: Shell): void {
  withJson(program.command('doctor'))
    .description(
      'Check that the service is ready, that its gateways are usable and that its invariants hold. Exits with 1 if a check fails.',
    )
    .action(async (options: JsonOption) => {
      const { url, checks } = await shell.withOperator(async (operator) => ({
        url: operator.url,
        checks: await runChecks(operator, shell.clock.now()),
      }))
      const bad = checks.filter(({ ok }) => !ok)
      const message = summaryOf(checks)
      const table = renderTable(
        ['CHECK', 'RESULT', 'DETAIL'],
        checks.map((check) => [check.name, resultOf(check), check.detail]),
      )
      const data = { url, checks }
      if (bad.length > 0) throw failed(`${url}\n\n${table}\n${message}`, { status: 'error', message, data })
      shell.show({ status: 'success', message, data }, options, () => `${url}\n\n${table}\n${message}\n`)
    })
}

function summaryOf(checks: readonly Check[]): string {
  const asked = checks.filter(({ byHand }) => !byHand)
  const bad = asked.filter(({ ok }) => !ok).length
  const byHand = checks.length - asked.length
  const summary =
    bad === 0 ? `All ${asked.length} checks passed.` : `${bad} of ${asked.length} checks failed.`
  return byHand === 0 ? summary : `${summary} Look at ${byHand} more by hand.`
}

const resultOf = ({ ok, byHand }: Check) => (byHand ? 'by hand' : ok ? 'ok' : 'FAILED')

async function runChecks(operator: OperatorClient, now: Date): Promise<Check[]> {
  const { ready, reasons } = await operator.isReady()
  const readiness = { name: 'ready', ok: ready, detail: reasons.join(' ') }
  // A boundary: src/cells/routes.ts describes these records.
  const cells = (await operator.call('GET', '/admin/v1/cells')).data as CellRecord[]
  const cellChecks = cells.length > 1 ? cells.filter(({ state }) => state !== 'removed').map(cellCheck) : []
  // The other checks leave out a cell that is not up.
  const { data } = await operator.call('GET', '/admin/v1/invariants')
  // A boundary: the operators' API describes its records in src/merchants/schema.ts.
  const invariants = data as { name: string; violations: number }[]
  const gateways = await operator.call('GET', '/admin/v1/gateway-checks', undefined, GATEWAYS_TIMEOUT_MS)
  const jobs = await operator.call('GET', '/admin/v1/jobs')
  // A boundary: src/instance.ts describes this record.
  const state = jobs.data as State
  return [
    readiness,
    ...cellChecks,
    // A boundary: src/gateways/check-routes.ts describes these records.
    ...(gateways.data as GatewayCheck[]).map(gatewayCheck),
    casesCheck(state.openCases),
    ...state.jobs.map((job) => jobCheck(job, now)),
    deliveriesCheck(state.deliveries, now),
    ...invariants.map(({ name, violations }) => ({
      name,
      ok: violations === 0,
      detail: violations === 0 ? '' : `${violations} violations`,
    })),
  ]
}

interface CellRecord {
  name: string
  merchants: number
  state: string
  isUp: boolean
}

function cellCheck({ name, merchants, isUp }: CellRecord): Check {
  const detail = isUp
    ? ''
    : `It does not take statements, or was added after this start; ${merchants} merchants are in it, and are not checked.`
  return { name: `cell ${name}`, ok: isUp, detail }
}

// The service asks several providers, each within COWRY_GATEWAY_TIMEOUT_MS for every call.
const GATEWAYS_TIMEOUT_MS = 120_000

interface GatewayCheck {
  gateway: string | null
  name: string
  result: 'ok' | 'failed' | 'by_hand'
  detail: string
}

function gatewayCheck({ gateway, name, result, detail }: GatewayCheck): Check {
  const subject = gateway === null ? 'gateways' : `gateway ${gateway}`
  const check = { name: `${subject} ${name}`, ok: result !== 'failed', detail }
  return result === 'by_hand' ? { ...check, byHand: true } : check
}

interface DueJob {
  name: string
  due: number
  oldestDueAt: string | null
}

interface State {
  jobs: DueJob[]
  deliveries: { pending: number; oldestPendingAt: string | null; failingEndpoints: number }
  openCases: { merchant: number; operator: number }
}

// Workers poll every few seconds. Work that is due for longer than this means that no worker runs, or too few.
const OVERDUE_SECONDS = 300

function jobCheck({ name, due, oldestDueAt }: DueJob, now: Date): Check {
  const seconds = secondsSince(oldestDueAt, now)
  const detail = due === 0 ? '' : `${due} due, the oldest for ${seconds} s`
  return { name: `job ${name}`, ok: seconds < OVERDUE_SECONDS, detail }
}

/** Endpoints belong to merchants: a failing one is reported, but it is not a fault of the service. */
function deliveriesCheck(
  { pending, oldestPendingAt, failingEndpoints }: State['deliveries'],
  now: Date,
): Check {
  const waiting = `${pending} pending, the oldest for ${secondsSince(oldestPendingAt, now)} s`
  const failing = `${failingEndpoints} endpoints fail`
  const detail = [pending > 0 && waiting, failingEndpoints > 0 && failing].filter(Boolean).join('; ')
  return { name: 'deliveries', ok: true, detail }
}

function secondsSince(at: string | null, now: Date): number {
  return at === null ? 0 : Math.max(0, Math.round((now.getTime() - Date.parse(at)) / 1_000))
}

/** An open case is reported, but it is not a fault of the service. */
function casesCheck({ merchant, operator }: State['openCases']): Check {
  const counts = `${operator} for the operator, ${merchant} for merchants: cowry cases list`
  return {
    name: 'cases',
    ok: true,
    detail: merchant + operator === 0 ? '' : counts,
  }
}

function failed(message: string, envelope: Envelope): CommandError {
  return new CommandError('checks_failed', message, { ...envelope, error: { code: 'checks_failed' } })
}
