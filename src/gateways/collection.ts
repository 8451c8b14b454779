// The setting of an account whose provider can be asked to collect from our own page, or to show a page of its own.

import type { CredentialField } from './definition.ts'
import type { Rail } from './gateway.ts'

const VALUES: readonly string[] = ['direct', 'page']

/** The field `collection` of an account; `direct` says what our page shows with this provider. */
export function collectionField(direct: string): CredentialField {
  return {
    name: 'collection',
    isRequired: false,
    meaning: `direct (default): ${direct}; page: the payer does this on the provider's page.`,
    validate: (text) => (VALUES.includes(text) ? undefined : 'must be direct or page'),
  }
}

export function collectsDirectly({ collection }: Readonly<Record<string, string>>): boolean {
  return collection !== 'page'
}

/** The rails of an account whose payers enter everything on the provider's page. */
export function onProvidersPage(rails: readonly Rail[]): Rail[] {
  return rails.map(({ prompts, networks, pageNetworks, transfers, ...rail }) => rail)
}
