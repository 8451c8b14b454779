// cowry people …: invites the first owner of a merchant, and operators.

import type { Command } from 'commander'
import { type JsonOption, withJson } from '../options.ts'
import type { Shell } from '../shell.ts'
import { renderRecord } from '../terminal.ts'

type InviteOptions = JsonOption & { email: string }

export function addPeopleCommands(program: Command, shell: Shell): void {
  const people = program.command('people').description('Invite people to the dashboard.')

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
}

async function invite(shell: Shell, options: InviteOptions, path: string): Promise<void> {
  const response = await shell.callOperator('POST', path, { email: options.email })
  // A boundary: the operators' API describes its records in src/people/routes.ts.
  shell.show(response, options, () => renderRecord(response.data as Record<string, unknown>))
}
