// The operators' route that makes a new link for the demo owner. Staging only.

import { Type } from 'typebox'
import { created, type OperatorRoute, operatorRoute } from '../../kit/http/route.ts'
import { described, namedObject, text, UuidInput } from '../../kit/http/schema.ts'
import type { PeopleApp } from '../app.ts'
import { createDemoSignIn } from '../demo/people.ts'

interface Needs extends PeopleApp {
  publicUrl(): string
  requireMerchant(id: string): Promise<unknown>
}

const LinkRecord = namedObject(
  'DemoLink',
  {
    link: text(
      'It works once, within a day.',
      'https://pay.example.com/app/enter/2V8cZk0Qm1x7rYb3tN5wLd9sFg4hJ6kP0aQeRuTiOyX',
    ),
  },
  { description: 'A link that signs the demo owner in to the dashboard.' },
)

export function demoLinkRoute(app: Needs): OperatorRoute {
  return operatorRoute({
    method: 'POST',
    path: '/admin/v1/demo-links',
    operationId: 'demoLinks.create',
    summary: 'Make a link that signs the demo owner in to the dashboard; staging only',
    description:
      'The start of the service prints the first one. It works once, within a day, and needs no password.',
    body: Type.Object({
      merchant: Type.Optional(
        described(UuidInput, 'A merchant whose owner the demo owner becomes, such as that of `cowry demo`.'),
      ),
    }),
    response: { http: 201, data: LinkRecord },
    errors: ['merchant_not_found'],
    examples: {
      body: {},
      data: { link: 'https://pay.example.com/app/enter/2V8cZk0Qm1x7rYb3tN5wLd9sFg4hJ6kP0aQeRuTiOyX' },
    },
    handle: async ({ body: { merchant } }) => {
      if (merchant !== undefined) await app.requireMerchant(merchant)
      const token = await createDemoSignIn(app, merchant)
      return created('Open the link within a day.', { link: `${app.publicUrl()}/app/enter/${token}` })
    },
  })
}
