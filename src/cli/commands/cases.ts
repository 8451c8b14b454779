// cowry cases …: lists the cases that a person must resolve, shows one, resolves it, and rejects a proposal.

import type { Command } from 'commander'
import { type JsonOption, type PaginationOptions, withJson, withPagination } from '../options.ts'
import type { Shell } from '../shell.ts'
import { renderRecord, renderTable } from '../terminal.ts'

interface ListOptions extends PaginationOptions {
  state?: string
  kind?: string
  owner?: string
  payment?: string
}

interface ResolveOptions extends JsonOption {
  resolution: string
  note: string
  proof?: string
}

interface CaseView extends Record<string, unknown> {
  uuid: string
  kind: string
  owner: string
  state: string
  paymentReference: string
  amount: string
  currency: string
  amountReceived: string | null
  resolutions: string[]
  openedAt: string
  customer: { firstname: string; lastname: string; email: string }
}

const PATH = '/admin/v1/cases'

export function addCaseCommands(program: Command, shell: Shell): void {
  const cases = program
    .command('cases')
    .description(
      'Situations that a person must resolve: docs/cases.md lists the kinds and their resolutions.',
    )
  addList(cases, shell)
  withJson(cases.command('show'))
    .description('Show a case, with what the provider said and how it can be resolved.')
    .argument('<uuid>', 'the case')
    .action(async (uuid: string, options: JsonOption) => {
      const response = await shell.callOperator('GET', `${PATH}/${encodeURIComponent(uuid)}`)
      // A boundary: the operators' API describes its records in src/case-resolutions/routes.ts.
      shell.show(response, options, () => renderCase(response.data as CaseView))
    })
  addResolve(cases, shell)
  withJson(cases.command('reject'))
    .description('Reject the proposed resolution of a case, which is open again.')
    .argument('<uuid>', 'the case')
    .option('--note <text>', 'why; kept with the case')
    .action(async (uuid: string, { note, ...options }: JsonOption & { note?: string }) => {
      const path = `${PATH}/${encodeURIComponent(uuid)}/reject`
      const response = await shell.callOperator('POST', path, { note })
      // A boundary, as above.
      shell.show(response, options, () => `${response.message}\n\n${renderCase(response.data as CaseView)}`)
    })
}

function addList(cases: Command, shell: Shell): void {
  withJson(withPagination(cases.command('list')))
    .description('List cases, the oldest first.')
    .option('--state <state>', 'open, resolved or all (default: open)')
    .option('--kind <kind>', 'only cases of this kind, such as underpaid')
    .option('--owner <owner>', 'only cases that the merchant or the operator decides')
    .option('--payment <uuid>', 'only cases about this payment')
    .action(async (options: ListOptions) => {
      const query = new URLSearchParams()
      for (const name of ['state', 'kind', 'owner', 'payment', 'page', 'limit'] as const) {
        if (options[name] !== undefined) query.set(name, String(options[name]))
      }
      const response = await shell.callOperator('GET', `${PATH}?${query}`)
      // A boundary, as above.
      shell.show(response, options, () => renderCases(response.data as CaseView[]))
    })
}

function addResolve(cases: Command, shell: Shell): void {
  withJson(cases.command('resolve'))
    .description('Resolve a case. The same resolution again changes nothing.')
    .argument('<uuid>', 'the case')
    .requiredOption(
      '--resolution <resolution>',
      'accept, return, ask_again, mark_paid, mark_failed or write_off',
    )
    .requiredOption('--note <text>', 'why; kept with the case')
    .option('--proof <reference>', "the provider's own reference, where the resolution relies on its records")
    .action(async (uuid: string, { resolution, note, proof, ...options }: ResolveOptions) => {
      const path = `${PATH}/${encodeURIComponent(uuid)}/resolve`
      const response = await shell.callOperator('POST', path, { resolution, note, proof })
      // A boundary, as above.
      shell.show(response, options, () => `${response.message}\n\n${renderCase(response.data as CaseView)}`)
    })
}

function renderCases(cases: CaseView[]): string {
  const rows = cases.map((one) => [
    one.uuid,
    one.kind,
    one.owner,
    one.paymentReference,
    `${one.amount} ${one.currency}`,
    one.amountReceived,
    one.openedAt,
    one.state,
  ])
  return renderTable(['CASE', 'KIND', 'OWNER', 'PAYMENT', 'AMOUNT', 'RECEIVED', 'OPENED', 'STATE'], rows)
}

function renderCase({ resolutions, proposal, customer, ...record }: CaseView): string {
  const waiting = proposal ? { proposal: JSON.stringify(proposal) } : {}
  const { firstname, lastname, email } = customer
  const payer = { customer: `${firstname} ${lastname} <${email}>` }
  return renderRecord({ ...record, ...payer, ...waiting, resolutions: resolutions.join(', ') })
}
