"""Write the example data of this folder anew: `python examples/make.py`. The same bytes of data come out each time.

All of it is made up: a shop with customers, orders and a database of its tickets, a library, weather stations.
"""

from __future__ import annotations

import csv
import datetime as dt
import random
import re
import sqlite3
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
CITIES = {"Lyon": "France", "Porto": "Portugal", "Graz": "Austria", "Bergen": "Norway", "Ghent": "Belgium"}
FIRST = (
    *("Ada", "Bruno", "Carla", "Dmitri", "Elena", "Farid", "Greta", "Hugo"),
    *("Ines", "Jonas", "Katja", "Leo", "Mona", "Nils", "Olga", "Pavel"),
)
LAST = ("Almeida", "Berg", "Costa", "Dubois", "Ebner", "Fischer", "Garnier", "Holm", "Iversen", "Janssens")
OTHERS = ("Kessler", "Lindqvist", "Moreau", "Novak", "Oliveira", "Petit", "Quist", "Rossi", "Santos", "Thorsen")
WORDS = (
    *("Silent", "River", "Northern", "Garden", "Glass", "Winter", "Paper"),
    *("Island", "Copper", "Morning", "Hidden", "Orchard", "Last", "Harbour"),
)
PRODUCTS = {
    "Desk lamp": ("Lighting", 39.90),
    "Floor lamp": ("Lighting", 129.00),
    "Oak table": ("Furniture", 449.00),
    "Bookshelf": ("Furniture", 189.50),
    "Office chair": ("Furniture", 259.00),
    "Wool rug": ("Textiles", 149.00),
    "Linen curtain": ("Textiles", 59.90),
    "Wall clock": ("Decoration", 34.50),
    "Vase": ("Decoration", 22.00),
}


def customers(seed: random.Random) -> list[dict[str, str]]:
    """30 customers; revenue in thousands with separators, and customer numbers with leading zeros."""
    rows = []
    for number in range(1, 31):
        city = seed.choice(sorted(CITIES))
        since = dt.date(2019, 1, 1) + dt.timedelta(days=seed.randrange(1800))
        rows.append(
            {
                "customer_id": f"{number:04d}",
                "name": f"{FIRST[(number * 7) % 16]} {LAST[(number * 3) % 10]}",
                "city": city,
                "country": CITIES[city],
                "customer since": f"{since:%B} {since.day}, {since.year}",
                "credit limit": f"€{seed.randrange(5, 60) * 250:,}",
            }
        )
    return rows


def write_customers(folder: Path, rows: list[dict[str, str]]) -> None:
    path = folder / "shop" / "customers.csv"
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write_orders(folder: Path, rows: list[dict[str, str]], seed: random.Random) -> None:
    """A workbook: sheet `orders` under a title row, sheet `products`."""
    import openpyxl

    book = openpyxl.Workbook()
    book.properties.created = book.properties.modified = dt.datetime(2024, 12, 31)
    orders = book.active
    orders.title = "orders"
    orders.append(["Orders of the year 2024"])
    orders.merge_cells("A1:G1")
    orders.append([])
    orders.append(["order_no", "customer_id", "date", "product", "quantity", "amount", "paid"])
    day = dt.date(2024, 1, 3)
    for number in range(1001, 1061):
        product = seed.choice(sorted(PRODUCTS))
        customer, quantity = seed.choice(rows)["customer_id"], seed.randrange(1, 7)
        amount = round(quantity * PRODUCTS[product][1], 2)
        orders.append([number, customer, day, product, quantity, amount, number % 9 != 0])
        day += dt.timedelta(days=seed.randrange(1, 12))
    products = book.create_sheet("products")
    products.append(["product", "category", "unit price"])
    for product, (category, price) in PRODUCTS.items():
        products.append([product, category, price])
    path = folder / "shop" / "orders.xlsx"
    book.save(path)
    _forget_clock(path)


def write_tickets(folder: Path, rows: list[dict[str, str]], seed: random.Random) -> None:
    """The shop's help desk, a SQLite database whose tickets name the customers of customers.csv."""
    agents = ["Noor", "Sven", "Tilda", "Uri"]
    topics = ["delivery", "damage", "invoice", "question"]
    with _fresh(folder / "shop" / "helpdesk.sqlite") as db:
        db.executescript(
            """
            CREATE TABLE agents (agent_id INTEGER PRIMARY KEY, name TEXT NOT NULL, team TEXT NOT NULL);
            CREATE TABLE tickets (
                ticket_id INTEGER PRIMARY KEY, customer_id TEXT NOT NULL, agent_id INTEGER REFERENCES agents(agent_id),
                opened TEXT NOT NULL, topic TEXT NOT NULL, hours REAL, closed INTEGER NOT NULL);
            """
        )
        db.executemany(
            "INSERT INTO agents VALUES (?, ?, ?)",
            [(i, n, "north" if i % 2 else "south") for i, n in enumerate(agents, 1)],
        )
        day = dt.date(2024, 1, 8)
        for number in range(1, 46):
            day += dt.timedelta(days=seed.randrange(0, 14))
            closed = number % 7 != 0
            hours = round(seed.uniform(0.5, 9.5), 1) if closed else None
            values = (
                number,
                seed.choice(rows[:20])["customer_id"],
                seed.randrange(1, 5),
                str(day),
                seed.choice(topics),
            )
            db.execute("INSERT INTO tickets VALUES (?, ?, ?, ?, ?, ?, ?)", (*values, hours, int(closed)))


def write_library(folder: Path, rows: list[dict[str, str]], seed: random.Random) -> None:
    """Books, their authors, members and loans; the first eight members are customers of the shop too."""
    with _fresh(folder / "library.sqlite") as db:
        db.executescript(
            """
            CREATE TABLE authors (
                author_id INTEGER PRIMARY KEY, name TEXT NOT NULL, country TEXT NOT NULL, born INTEGER);
            CREATE TABLE books (
                book_id INTEGER PRIMARY KEY, title TEXT NOT NULL,
                author_id INTEGER NOT NULL REFERENCES authors(author_id),
                published INTEGER NOT NULL, genre TEXT NOT NULL, pages INTEGER NOT NULL);
            CREATE TABLE members (
                member_id INTEGER PRIMARY KEY, name TEXT NOT NULL, town TEXT NOT NULL, joined TEXT NOT NULL);
            CREATE TABLE loans (
                loan_id INTEGER PRIMARY KEY, book_id INTEGER NOT NULL REFERENCES books(book_id),
                member_id INTEGER NOT NULL REFERENCES members(member_id), lent TEXT NOT NULL, returned TEXT);
            """
        )
        for number in range(1, 21):
            name = f"{FIRST[(number * 5) % 16]} {LAST[(number * 7 + number // 10) % 10]}"
            country = seed.choice(sorted(CITIES.values()))
            db.execute("INSERT INTO authors VALUES (?, ?, ?, ?)", (number, name, country, 1900 + seed.randrange(95)))
        for number in range(1, 41):
            first, second = number % 14, (number * 5 + number // 14 + 1) % 14
            title = f"The {WORDS[first]} {WORDS[second if second != first else (second + 3) % 14]}"
            genre = ["novel", "crime", "poetry", "history"][seed.randrange(4)]
            row = (number, title, seed.randrange(1, 21), 1950 + seed.randrange(74), genre, seed.randrange(90, 620))
            db.execute("INSERT INTO books VALUES (?, ?, ?, ?, ?, ?)", row)
        for number in range(1, 26):
            joined = dt.date(2018, 1, 1) + dt.timedelta(days=seed.randrange(2000))
            name = f"{FIRST[(number * 3 + 1) % 16]} {OTHERS[(number * 9 + number // 10) % 10]}"
            town = seed.choice(sorted(CITIES))
            if number <= 8:
                name, town = rows[number * 3]["name"], rows[number * 3]["city"]
            db.execute("INSERT INTO members VALUES (?, ?, ?, ?)", (number, name, town, str(joined)))
        day = dt.date(2024, 1, 2)
        for number in range(1, 61):
            day += dt.timedelta(days=seed.randrange(0, 10))
            back = str(day + dt.timedelta(days=seed.randrange(3, 40))) if number % 8 else None
            row = (number, seed.randrange(1, 41), seed.randrange(1, 26), str(day), back)
            db.execute("INSERT INTO loans VALUES (?, ?, ?, ?, ?)", row)


def write_stations(folder: Path, seed: random.Random) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"{city} {part}" for city in sorted(CITIES) for part in ("Airport", "Centre", "Harbour", "Hill")]
    table = pa.table(
        {
            "station": names,
            "city": [n.split()[0] for n in names],
            "elevation_m": pa.array([seed.randrange(2, 900) for _ in names], pa.int64()),
            "opened": pa.array([dt.date(1950 + seed.randrange(70), seed.randrange(1, 13), 1) for _ in names]),
            "mean_temperature": pa.array([round(seed.uniform(4, 18), 1) for _ in names]),
            "rain_mm": pa.array(
                [seed.randrange(550, 2300) if seed.random() > 0.1 else None for _ in names], pa.int64()
            ),
        }
    )
    pq.write_table(table, folder / "stations.parquet")


def _forget_clock(path: Path) -> None:
    """Pack a workbook again without the hour at which it was written."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            if name == "docProps/core.xml":
                data = re.sub(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", b"2024-12-31T00:00:00Z", data)
            archive.writestr(zipfile.ZipInfo(name, (2024, 12, 31, 0, 0, 0)), data)


def _fresh(path: Path) -> sqlite3.Connection:
    path.unlink(missing_ok=True)
    return sqlite3.connect(path)


def main(folder: Path = HERE) -> None:
    seed = random.Random(42)
    rows = customers(seed)
    write_customers(folder, rows)
    write_orders(folder, rows, seed)
    write_tickets(folder, rows, seed)
    write_library(folder, rows, seed)
    write_stations(folder, seed)


if __name__ == "__main__":
    main()
