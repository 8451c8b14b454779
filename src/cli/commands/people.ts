// cowry people …: invites the first owner of a merchant, and operators; makes links of the demo owner; lists accounts, disables
// and enables them.

import type { Command } from 'commander'
import {
  type JsonOption,
  type PaginationOptions,
  paginationQuery,
  withJson,
  withPagination,
} from '../options.ts'
import type { Shell } from '../shell.ts'
import { renderRecord, renderTable } from '../terminal.ts'

const USERS_PATH = '/admin/v1/users'

type InviteOptions = JsonOption & { email: string }

export function addPeopleCommands(program: Command, shell: Shell): void {
  const people = program
    .command('people')
    .description('The people of the dashboard: invitations and accounts.')

  withJson(people.command('invite-owner'))
    .description('Print a link for an owner of a merchant. It works once, within 7 days.')
    .requiredOption('--merchant <uuid>', 'the merchant')
    .requiredOption('--email <address>', 'the e-mail address of the person')
    .action((options: InviteOptions & { merchant: string }) =>
      invite(shell, options, `/admin/v1/merchants/${encodeURIComponent(options.merchant)}/owner-invitations`),
    )

  withJson(people.command('invite-operator'))
    .description('Print a link for an operator of this instance. It works once, within 7 days.')
    .requiredOption('--email <address>', 'the e-mail address of the person')
    .action((options: InviteOptions) => invite(shell, options, '/admin/v1/operator-invitations'))

  withJson(people.command('revoke-invitation'))
    .description('Revoke an open invitation of an operator: its link does not work any more.')
    .argument('<uuid>', 'the invitation; invite-operator names it when it refuses a second one')
    .action(async (uuid: string, options: JsonOption) => {
      const path = `/admin/v1/operator-invitations/${encodeURIComponent(uuid)}/revoke`
      const response = await shell.callOperator('POST', path)
      // A boundary: the operators' API describes its record in src/people/routes.ts.
      shell.show(response, options, () => renderRecord(response.data as Record<string, unknown>))
    })

  withJson(people.command('demo-link'))
    .description('Print a new link that signs the demo owner in. Staging only; it works once, within a day.')
    .option('--merchant <uuid>', 'another merchant of which it is the owner then, such as that of cowry demo')
    .action(async ({ merchant, ...options }: JsonOption & { merchant?: string }) => {
      const response = await shell.callOperator('POST', '/admin/v1/demo-links', { merchant })
      // A boundary: the operators' API describes its record in src/people/users/demo-links.ts.
      shell.show(response, options, () => renderRecord(response.data as Record<string, unknown>))
    })

  addList(people, shell)
  addStatusCommand(people, shell, 'disable', 'Sign a person out everywhere, and refuse further sign-ins.')
  addStatusCommand(people, shell, 'enable', 'Let a person sign in again after the account was disabled.')
}

interface UserView extends Record<string, unknown> {
  uuid: string
  email: string
  name: string
  kind: string
  hasSecondFactor: boolean
  disabledAt: string | null
}

type ListOptions = PaginationOptions & { kind?: string; email?: string }

function addList(people: Command, shell: Shell): void {
  withJson(withPagination(people.command('list')))
    .description('List the people who can sign in, newest first.')
    .option('--kind <kind>', 'only these: member or operator')
    .option('--email <address>', 'only the account with this e-mail address')
    .action(async ({ kind, email, ...options }: ListOptions) => {
      const query = new URLSearchParams(paginationQuery(options))
      if (kind !== undefined) query.set('kind', kind)
      if (email !== undefined) query.set('email', email)
      const response = await shell.callOperator('GET', `${USERS_PATH}?${query}`)
      // A boundary: the operators' API describes its records in src/people/users/schema.ts.
      shell.show(response, options, () => renderUsers(response.data as UserView[]))
    })
}

const renderUsers = (users: readonly UserView[]) =>
  renderTable(
    ['UUID', 'E-MAIL', 'NAME', 'KIND', 'SECOND FACTOR', 'STATUS'],
    users.map(({ uuid, email, name, kind, hasSecondFactor, disabledAt }) => [
      ...[uuid, email, name, kind, hasSecondFactor ? 'on' : 'off'],
      disabledAt === null ? 'active' : `disabled ${disabledAt}`,
    ]),
  )

function addStatusCommand(
  people: Command,
  shell: Shell,
  verb: 'disable' | 'enable',
  description: string,
): void {
  withJson(people.command(verb))
    .description(description)
    .argument('<uuid>', 'the account; cowry people list --email finds it')
    .action(async (uuid: string, options: JsonOption) => {
      const response = await shell.callOperator('POST', `${USERS_PATH}/${encodeURIComponent(uuid)}/${verb}`)
      shell.show(response, options, () => renderRecord(response.data as UserView))
    })
}

async function invite(shell: Shell, options: InviteOptions, path: string): Promise<void> {
  const response = await shell.callOperator('POST', path, { email: options.email })
  // A boundary: the operators' API describes its records in src/people/routes.ts.
  shell.show(response, options, () => renderRecord(response.data as Record<string, unknown>))
}
