// cowry merchants …: creates, lists, suspends and activates merchants.

import type { Command } from 'commander'
import {
  type JsonOption,
  type PaginationOptions,
  paginationQuery,
  withJson,
  withPagination,
} from '../../options.ts'
import type { Shell } from '../../shell.ts'
import { renderRecord, renderTable } from '../../terminal.ts'
import { addBrandCommand } from './brand.ts'

interface Merchant {
  uuid: string
  name: string
  status: string
  baseCurrency: string
  /** Where there are several cells. */
  cell?: string
  createdAt: string
}

export function addMerchantCommands(program: Command, shell: Shell): void {
  const merchants = program
    .command('merchants')
    .description('Create, brand, list, suspend and activate merchants.')

  withJson(merchants.command('create'))
    .description('Create a merchant. Give it a key with "cowry keys create".')
    .requiredOption('--name <name>', 'the name of the merchant on the checkout page')
    .option('--base-currency <code>', 'the currency of its balance (default: USD)')
    .option('--cell <name>', 'the cell for its data (default: the active one with the fewest merchants)')
    .action(async (options: JsonOption & { name: string; baseCurrency?: string; cell?: string }) => {
      const { name, baseCurrency, cell } = options
      await change(shell, options, '/admin/v1/merchants', { name, baseCurrency, cell })
    })

  addBrandCommand(merchants, shell)

  withJson(withPagination(merchants.command('list')))
    .description('List merchants, newest first.')
    .action(async (options: PaginationOptions) => {
      const response = await shell.callOperator('GET', `/admin/v1/merchants${paginationQuery(options)}`)
      // A boundary: the operators' API describes its records in src/merchants/schema.ts.
      shell.show(response, options, () => renderMerchants(response.data as Merchant[]))
    })

  for (const verb of ['suspend', 'activate'] as const)
    withJson(merchants.command(verb))
      .description(VERBS[verb])
      .argument('<uuid>', 'the merchant')
      .action(async (uuid: string, options: JsonOption) => {
        await change(shell, options, `/admin/v1/merchants/${encodeURIComponent(uuid)}/${verb}`)
      })
}

const VERBS = {
  suspend: 'Suspend a merchant: its keys stop working within 5 seconds.',
  activate: 'Activate a suspended merchant.',
}

async function change(shell: Shell, options: JsonOption, path: string, body?: object): Promise<void> {
  const response = await shell.callOperator('POST', path, body)
  // A boundary: the operators' API returns a record here. "merchants brand" shows its settings.
  const { settings: _, ...record } = response.data as Record<string, unknown>
  shell.show(response, options, () => renderRecord(record))
}

function renderMerchants(merchants: Merchant[]): string {
  const cellOf = ({ cell }: Merchant) => (cell === undefined ? [] : [cell])
  const rows = merchants.map((one) => {
    const { uuid, name, status, baseCurrency, createdAt } = one
    return [uuid, name, status, baseCurrency, ...cellOf(one), createdAt]
  })
  const hasCells = merchants.some(({ cell }) => cell !== undefined)
  return renderTable(['UUID', 'NAME', 'STATUS', 'CURRENCY', ...(hasCells ? ['CELL'] : []), 'CREATED'], rows)
}
