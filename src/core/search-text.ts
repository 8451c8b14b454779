// What a customer is found by: "first last" and the e-mail, in lower case. The line break keeps a search from matching
// across the two, because a search text has no control characters.

export function searchTextOf(customer: { firstname: string; lastname: string; email: string }): string {
  return `${customer.firstname} ${customer.lastname}\n${customer.email}`.toLowerCase()
}
