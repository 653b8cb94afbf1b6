// Tables that are sorted by their headings, and lists in pages.

/** Buttons to turn pages; `show(first, end)` draws one. */
class Pager {
  constructor(size, show) {
    this.size = size;
    this.show = show;
    this.page = 0;
    this.total = 0;
    this.status = element("span", { class: "small", "aria-live": "polite" });
    this.back = element("button", { type: "button", onclick: () => this.turn(-1) }, "Previous");
    this.forth = element("button", { type: "button", onclick: () => this.turn(1) }, "Next");
    this.node = element("div", { class: "pager" }, this.back, this.status, this.forth);
  }

  reset(total, page = 0) {
    this.total = total;
    this.page = page;
    this.draw();
  }

  turn(step) {
    const last = Math.max(0, Math.ceil(this.total / this.size) - 1);
    this.page = Math.max(0, Math.min(last, this.page + step));
    this.draw();
    // A disabled button would lose the focus to nothing.
    if (this.back.disabled && step < 0) this.forth.focus();
    if (this.forth.disabled && step > 0) this.back.focus();
  }

  draw() {
    const first = this.page * this.size;
    const end = Math.min(this.total, first + this.size);
    this.node.hidden = this.total <= this.size;
    this.back.disabled = this.page === 0;
    this.forth.disabled = end >= this.total;
    this.status.textContent = `${whole(first + 1)} to ${whole(end)} of ${whole(this.total)}`;
    this.show(first, end);
  }
}

/**
 * A table. Columns: title, key (row to what is sorted by; none: not sortable), cell (row to content),
 * numeric, first ("ascending" or "descending", the order after the first click). Where the page is
 * narrow, the second column of a stacked table goes below the others.
 */
class SortedTable {
  constructor(caption, columns, { size = 20, sort = null, descending = true, stacked = false } = {}) {
    this.columns = columns;
    this.sort = sort;
    this.descending = descending;
    this.rows = [];
    this.heads = columns.map((column, index) => element("th",
      { scope: "col", class: column.numeric ? "numeric" : null },
      column.key
        ? element("button", { type: "button", onclick: () => this.sortBy(index) }, column.title,
          element("span", { class: "arrow", "aria-hidden": "true" }))
        : column.title));
    this.body = element("tbody");
    this.pager = new Pager(size, (first, end) => this.draw(first, end));
    this.node = element("div", {},
      element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
        element("table", { class: stacked ? "stacked" : null }, element("caption", { class: "hidden" }, caption),
          element("thead", {}, element("tr", {}, this.heads)), this.body)),
      this.pager.node);
  }

  sortBy(index) {
    if (this.sort === index) this.descending = !this.descending;
    else this.descending = (this.columns[index].first ?? (this.columns[index].numeric ? "descending" : "ascending")) === "descending";
    this.sort = index;
    this.fill(this.rows);
  }

  fill(rows) {
    this.rows = rows;
    this.sorted = [...rows];
    if (this.sort !== null) {
      const { key } = this.columns[this.sort];
      const sign = this.descending ? -1 : 1;
      this.sorted.sort((a, b) => sign * compare(key(a), key(b)));
    }
    this.heads.forEach((head, index) => {
      if (!this.columns[index].key) return;
      const order = index === this.sort ? (this.descending ? "descending" : "ascending") : "none";
      head.setAttribute("aria-sort", order);
    });
    this.pager.reset(rows.length);
  }

  draw(first, end) {
    const rows = this.sorted.slice(first, end).map((row) => element("tr", {},
      this.columns.map((column, index) => element(index === 0 ? "th" : "td",
        { scope: index === 0 ? "row" : null, class: column.numeric ? "numeric" : null }, column.cell(row)))));
    if (rows.length === 0) {
      rows.push(element("tr", {}, element("td", { colspan: this.columns.length, class: "muted" }, "Nothing here.")));
    }
    this.body.replaceChildren(...rows);
  }
}

/** Numbers by size, what is unknown last of all, text as people sort it. */
function compare(a, b) {
  if (typeof a === "string") return a.localeCompare(b, "en", { numeric: true });
  const left = a === null || Number.isNaN(a) ? -Infinity : a;
  const right = b === null || Number.isNaN(b) ? -Infinity : b;
  return left < right ? -1 : left > right ? 1 : 0;
}
