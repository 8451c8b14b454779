// cowry reconcile …: compares settlement files of gateways with the ledger, and manages the breaks.

import { basename } from 'node:path'
import type { Command, OptionValues } from 'commander'
import { FORMATS } from '../../reconciliation/formats.ts'
import { readGivenFile } from '../given-file.ts'
import { type JsonOption, type PaginationOptions, withJson, withPagination } from '../options.ts'
import type { Shell } from '../shell.ts'
import { CommandError, renderRecord, renderTable } from '../terminal.ts'

interface FileOptions extends JsonOption {
  gateway?: string
  file?: string
  format?: string
  merchant?: string
  from?: string
  to?: string
  dryRun?: boolean
}

interface BreakOptions extends PaginationOptions {
  state?: string
  gateway?: string
  reconciliation?: string
}

interface Side {
  status: string | null
  amount: string | null
  currency: string | null
  fee: string | null
}

interface Break {
  uuid?: string
  kind: string
  subject: string
  line: number | null
  ours: Side | null
  theirs: Side | null
  owner?: string | null
  state?: string
  ageDays?: number
}

export function addReconcileCommands(program: Command, shell: Shell): void {
  const reconcile = withJson(program.command('reconcile'))
    .description(
      "Reconcile a gateway's settlement file with our ledger: matching payments become available, and breaks are listed until they are closed. Repeating a file changes nothing.",
    )
    .option('--gateway <name>', 'the gateway of the file, such as paystack')
    .option('--file <file>', 'the settlement file, as CSV')
    .option('--format <format>', `the format: ${FORMATS.join(', ')} (default: neutral)`)
    .option('--merchant <uuid>', "the file is of this merchant's own account, not of the instance's account")
    .option('--from <time>', 'the file contains every payment that was paid from this time on …')
    .option('--to <time>', '… and before this time: payments that only our ledger has are listed too')
    .option('--dry-run', 'compare only, and change nothing')
    .action((options: FileOptions) => sendFile(shell, options))
  addBreaks(reconcile, shell)
  addClose(reconcile, shell)
  addAssign(reconcile, shell)
}

// A file of the largest size takes some seconds, and more on a slow disk.
const FILE_TIMEOUT_MS = 120_000

async function sendFile(shell: Shell, options: FileOptions): Promise<void> {
  const { gateway, file, format, merchant, from, to } = options
  if (gateway === undefined || file === undefined) {
    throw new CommandError('usage', 'Specify the gateway and the file: --gateway <name> --file <file>.')
  }
  const bytes = await readGivenFile(file)
  if (bytes.length === 0) throw new CommandError('usage', `${file} is empty: there is nothing to compare.`)
  const content = bytes.toString('base64')
  const body = {
    gateway,
    merchant,
    format,
    fileName: basename(file),
    content,
    coversFrom: from,
    coversTo: to,
  }
  const path = `/admin/v1/reconciliations${options.dryRun ? '/preview' : ''}`
  const response = await shell.callOperator('POST', path, body, FILE_TIMEOUT_MS)
  // A boundary: the operators' API describes its records in src/reconciliation/schema.ts.
  const { breaksFound = [], ...record } = response.data as {
    breaksFound?: Break[]
    uuid?: string
    breaks: number
  }
  shell.show(response, options, () =>
    [
      `${response.message}\n\n`,
      renderRecord(record),
      breaksFound.length > 0 ? `\n${renderBreaks(breaksFound)}` : '',
      record.uuid && record.breaks > 0
        ? `\nSee the breaks with "cowry reconcile breaks --reconciliation ${record.uuid}".\n`
        : '',
    ].join(''),
  )
}

// Commander assigns an option that the parent command also has to the parent, so a subcommand reads the options of
// both.
const allOptions = <Options extends OptionValues>(command: Command) => command.optsWithGlobals<Options>()

function addBreaks(reconcile: Command, shell: Shell): void {
  withJson(withPagination(reconcile.command('breaks')))
    .description('List breaks, the oldest first.')
    .option('--state <state>', 'open, closed or all (default: open)')
    .option('--gateway <name>', 'only breaks of this gateway')
    .option('--reconciliation <uuid>', 'only breaks of this reconciliation')
    .action(async (_options: BreakOptions, command: Command) => {
      const options = allOptions<BreakOptions>(command)
      const query = new URLSearchParams()
      for (const name of ['state', 'gateway', 'reconciliation', 'page', 'limit'] as const) {
        if (options[name] !== undefined) query.set(name, String(options[name]))
      }
      const path = `/admin/v1/reconciliation-breaks?${query}`
      const response = await shell.callOperator('GET', path)
      // A boundary: the operators' API describes its records in src/reconciliation/schema.ts.
      shell.show(response, options, () => renderBreaks(response.data as Break[]))
    })
}

function addClose(reconcile: Command, shell: Shell): void {
  withJson(reconcile.command('close'))
    .description('Close a break. It stays closed while the file and our ledger do not change.')
    .argument('<uuid>', 'the break')
    .requiredOption('--note <text>', 'the resolution')
    .action(async (uuid: string, _options: unknown, command: Command) => {
      const options = allOptions<JsonOption & { note: string }>(command)
      await change(shell, options, uuid, 'close', { note: options.note })
    })
}

function addAssign(reconcile: Command, shell: Shell): void {
  withJson(reconcile.command('assign'))
    .description('Assign a break.')
    .argument('<uuid>', 'the break')
    .requiredOption('--owner <name>', 'the assignee')
    .option('--note <text>', 'a note on the break')
    .action(async (uuid: string, _options: unknown, command: Command) => {
      const options = allOptions<JsonOption & { owner: string; note?: string }>(command)
      await change(shell, options, uuid, 'assign', { owner: options.owner, note: options.note })
    })
}

async function change(
  shell: Shell,
  options: JsonOption,
  uuid: string,
  verb: 'close' | 'assign',
  body: object,
): Promise<void> {
  const path = `/admin/v1/reconciliation-breaks/${encodeURIComponent(uuid)}/${verb}`
  const response = await shell.callOperator('POST', path, body)
  // A boundary: the operators' API describes its records in src/reconciliation/schema.ts.
  const { ours, theirs, ...record } = response.data as Break & Record<string, unknown>
  shell.show(response, options, () =>
    renderRecord({ ...record, ours: sideText(ours), theirs: sideText(theirs) }),
  )
}

function renderBreaks(breaks: Break[]): string {
  const rows = breaks.map((one) => [
    one.uuid ?? (one.line === null ? null : `line ${one.line}`),
    one.kind,
    one.subject,
    sideText(one.ours),
    sideText(one.theirs),
    one.ageDays === undefined ? null : `${one.ageDays} d`,
    one.state,
    one.owner,
  ])
  return renderTable(['BREAK', 'KIND', 'ABOUT', 'OURS', 'THEIRS', 'AGE', 'STATE', 'OWNER'], rows)
}

function sideText(side: Side | null): string {
  if (side === null) return 'nothing'
  const fee = side.fee === null ? '' : ` (fee ${side.fee})`
  return [side.amount, side.currency, side.status].filter((part) => part !== null).join(' ') + fee
}
